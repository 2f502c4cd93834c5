"""Sampling from policies that share one model: base weights with an adapter merged in."""

import itertools
import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch
from tinker import ModelInput, SampledSequence, SampleResponse, SamplingParams

from posttrain.engine.local.adapter import Adapter
from posttrain.engine.local.batcher import Batcher, Request
from posttrain.engine.local.decode import Row, decode
from posttrain.engine.local.draw import Stream
from posttrain.engine.local.load import Model
from posttrain.engine.local.prefill import SegmentCache, prefill
from posttrain.engine.local.whole import decode_whole
from posttrain.errors import EngineError

CACHE_BYTES = 1 << 29  # of key/values kept between requests


class MergedModel:
    """A model whose weights are the base's plus one adapter's; remembers which one."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.segments = SegmentCache(CACHE_BYTES)
        self.lock = threading.Lock()
        self._pristine: dict[str, torch.Tensor] = {}
        self._installed: Adapter | None = None

    def install(self, adapter: Adapter | None) -> None:
        """Puts an adapter's weights in place, exactly as if it were merged into the pristine base."""
        if adapter is self._installed:
            return
        for name, pristine in self._pristine.items():
            self.model.causal.get_submodule(name).weight.copy_(pristine)
        for name, delta in (adapter.deltas() if adapter else {}).items():
            weight = self.model.causal.get_submodule(name).weight
            self._pristine.setdefault(name, weight.clone())
            weight.copy_(self._pristine[name] + delta.to(weight))
        self.segments.clear()
        self._installed = adapter


class LocalSampler:
    """Answers `sample` in batches of at most `batch_rows` rows."""

    def __init__(self, merged: MergedModel, adapter: Adapter | None, batch_rows: int) -> None:
        self._merged, self._adapter, self._batch_rows = merged, adapter, batch_rows
        self._context = int(merged.model.causal.config.get_text_config().max_position_embeddings)
        self._batcher = Batcher(self._run)

    def caller(self) -> AbstractContextManager[None]:
        """Declares one more concurrent caller."""
        return self._batcher.caller()

    async def sample(self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams) -> SampleResponse:
        """See `Sampler.sample`; `stop` must hold token ids.

        Raises:
            EngineError: the prompt is empty or leaves no room, or `stop` holds text.
        """
        tokens = prompt.to_ints()
        limit = sampling_params.max_tokens or 0
        if not tokens or limit < 1 or len(tokens) + limit > self._context:
            raise EngineError(
                f"a prompt of {len(tokens)} tokens and {limit} new ones do not fit the model's {self._context}; "
                "lower harness.max_searches, harness.top_k or harness.max_tokens"
            )
        if any(not isinstance(stop, int) for stop in sampling_params.stop or []):
            raise EngineError("the local engine stops at token ids; give SamplingParams.stop as ids")
        return await self._batcher.sample(tokens, num_samples, sampling_params)

    def _run(self, batch: Sequence[Request]) -> list[SampleResponse]:
        """Answers the requests in their order; rows with equal settings are decoded together."""
        rows = [[_row(request, i) for i in range(request.num_samples)] for request in batch]
        settings = [_settings(request.params) for request in batch]
        with self._merged.lock, torch.inference_mode():
            self._merged.install(self._adapter)
            for setting in sorted(set(settings)):
                chosen = itertools.chain.from_iterable(r for r, s in zip(rows, settings, strict=True) if s == setting)
                for portion in _portions(chosen, self._batch_rows):
                    self._decode(portion, *setting)
        return [_response(request_rows) for request_rows in rows]

    def _decode(self, rows: list[Row], temperature: float, top_k: int, top_p: float) -> None:
        if not self._merged.model.blockwise:
            decode_whole(self._merged.model, rows, temperature, top_k, top_p)
            return
        computed = None
        for row in rows:  # rows of one prompt stand side by side
            if computed is None or computed.tokens != row.prompt:
                computed = prefill(self._merged.model, row.prompt, row.stop, self._merged.segments)
            row.prefilled = computed
        decode(self._merged.model, rows, temperature, top_k, top_p)
        for row in rows:
            row.prefilled = None


def _row(request: Request, index: int) -> Row:
    stop = frozenset(s for s in request.params.stop or [] if isinstance(s, int))
    stream = Stream((request.params.seed or 0) + index, request.prompt)
    return Row(request.prompt, stream, request.params.max_tokens or 0, stop)


def _settings(params: SamplingParams) -> tuple[float, int, float]:
    return params.temperature, params.top_k, params.top_p


def _portions(rows: Iterable[Row], size: int) -> Iterable[list[Row]]:
    rows = iter(rows)
    while portion := list(itertools.islice(rows, size)):
        yield portion


def _response(rows: list[Row]) -> SampleResponse:
    sequences = [
        SampledSequence(
            stop_reason=row.stop_reason or "length",
            sequence_id=str(index),
            tokens_np=np.array(row.tokens, dtype=np.int64),
            logprobs_np=np.array(row.logprobs, dtype=np.float32),
        )
        for index, row in enumerate(rows)
    ]
    # Cache hits depend on what ran before in this process; nobody bills them here, so they are not reported.
    return SampleResponse(sequences=sequences)
