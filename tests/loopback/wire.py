"""The binary half of the SDK's wire: requests to train come as protobuf, samples and losses go back as protobuf."""

from collections.abc import Iterable

import numpy as np
from tinker import Datum, ForwardBackwardOutput, ModelInput, SampleResponse, TensorData
from tinker.proto import tinker_public_pb2 as pb

from posttrain.errors import DataError

_NUMPY = {pb.DTYPE_FLOAT32: np.float32, pb.DTYPE_INT64: np.int64}


def training_request(body: bytes) -> pb.ForwardBackwardRequest:
    """The message of a request to train.

    Raises:
        DataError: `body` is no such message, or asks for what this server does not do.
    """
    message = pb.ForwardBackwardRequest()
    try:
        message.ParseFromString(body)
    except Exception as error:  # protobuf's own class differs between its backends
        raise DataError(f"not a ForwardBackwardRequest: {error}") from error
    if message.forward_only or message.loss_fn_config or message.loss_fn_config_v2:
        raise DataError("forward_only and loss_fn_config are not served here")
    return message


def datums(message: pb.ForwardBackwardRequest) -> list[Datum]:
    """What to train on.

    Raises:
        DataError: it holds pictures, sound or sparse tensors.
    """
    return [
        Datum(
            model_input=ModelInput.from_ints(_tokens(datum.model_input)),
            loss_fn_inputs={name: _tensor(tensor) for name, tensor in datum.loss_fn_inputs.items()},
        )
        for datum in message.data
    ]


def _tokens(chunks: Iterable[pb.Chunk]) -> list[int]:
    tokens: list[int] = []
    for chunk in chunks:
        if not chunk.HasField("encoded_text"):
            raise DataError("only text can be trained on here")
        tokens += np.frombuffer(chunk.encoded_text.tokens, dtype=np.int32).tolist()
    return tokens


def _tensor(message: pb.Tensor) -> TensorData:
    if message.HasField("sparse_csr") or message.dtype not in _NUMPY:
        raise DataError("only dense float32 and int64 tensors are served here")
    values = np.frombuffer(message.dense, dtype=_NUMPY[message.dtype]).copy()
    return TensorData.from_numpy(values.reshape(tuple(message.shape)) if message.shape else values)


def sample_bytes(response: SampleResponse) -> bytes:
    """What the SDK reads as a `SampleResponse`."""
    message = pb.SampleResponse(prompt_cache_hit_tokens=response.prompt_cache_hit_tokens)
    for sequence in response.sequences:
        message.sequences.add(
            stop_reason=pb.STOP_REASON_STOP if sequence.stop_reason == "stop" else pb.STOP_REASON_LENGTH,
            tokens=np.asarray(sequence.tokens, dtype=np.int32).tobytes(),
            logprobs=np.asarray(sequence.logprobs, dtype=np.float32).tobytes(),
        )
    return bytes(message.SerializeToString())


def output_bytes(output: ForwardBackwardOutput) -> bytes:
    """What the SDK reads as a `ForwardBackwardOutput`: each field's rows end to end, and where each begins."""
    record = pb.ArrayRecord(num_datums=len(output.loss_fn_outputs))
    for name in sorted({name for row in output.loss_fn_outputs for name in row}):
        rows = [np.asarray(row[name].to_numpy(), dtype=np.float32) for row in output.loss_fn_outputs]
        offsets = np.cumsum([0, *(row.nbytes for row in rows)], dtype=np.int64)
        field = record.fields[name]
        field.data, field.offsets = b"".join(row.tobytes() for row in rows), offsets.tobytes()
        field.dtype = pb.DTYPE_FLOAT32
    message = pb.ForwardBackwardOutput(loss_fn_output_type=output.loss_fn_output_type, loss_fn_outputs=[record])
    for key, value in output.metrics.items():
        message.metrics[key] = value
    return bytes(message.SerializeToString())
