"""Episodes as training examples: inputs are all tokens but the last, targets all but the first."""

from collections.abc import Sequence

import numpy as np
from tinker import Datum, ModelInput, TensorData

from posttrain.ledger.lineage import digest_datum
from posttrain.rollout.episode import Episode

_DTYPES = {"target_tokens": "int64"}


def sft_datum(episode: Episode) -> Datum:
    """Cross-entropy with weight 1 on what the policy sampled and 0 on everything else."""
    return _datum(episode, {"weights": [float(flag) for flag in episode.sampled]})


def rl_datum(episode: Episode, advantage: float) -> Datum:
    """One advantage for every token the policy sampled, 0 for the harness's, beside the sampler's logprobs."""
    advantages = [advantage * flag for flag in episode.sampled]
    return _datum(episode, {"logprobs": episode.logprobs, "advantages": advantages})


def _datum(episode: Episode, per_token: dict[str, list[float]]) -> Datum:
    """Shifts by one: position t of the input predicts token t + 1. The prompt's positions get zeros."""
    tokens = episode.prompt + episode.tokens
    before = [0.0] * (len(episode.prompt) - 1)
    inputs: dict[str, Sequence[float]] = {name: before + values for name, values in per_token.items()}
    inputs["target_tokens"] = [*tokens[1:]]
    arrays = {
        name: TensorData.from_numpy(np.asarray(values, _DTYPES.get(name, "float32"))) for name, values in inputs.items()
    }
    return Datum(model_input=ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=arrays)


def digests(data: Sequence[Datum]) -> list[bytes]:
    """One digest per example, for the lineage."""
    return [
        digest_datum(
            datum.model_input.to_ints(), {name: value.tolist() for name, value in datum.loss_fn_inputs.items()}
        )
        for datum in data
    ]
