"""How an update's data looked to the trainer: its loss, and how far it is from what the sampler saw."""

from collections.abc import Sequence

import numpy as np
from tinker import Datum, ForwardBackwardOutput

TAIL = (0.9, 1.1)  # probability ratios outside are counted as the tail


def fit(data: Sequence[Datum], output: ForwardBackwardOutput) -> dict[str, float]:
    """Metrics of one update, over its taught tokens.

    Returns:
        loss: mean negative log probability, weighted as the loss is. tokens: tokens in the data.
        With sampler logprobs also logprob_gap_mean: mean |trainer - sampler| in nats, and logprob_gap_tail: the share
        of tokens whose probability ratio trainer / sampler lies outside 0.9 to 1.1.
    """
    losses, weights, gaps = [], [], []
    for datum, result in zip(data, output.loss_fn_outputs, strict=True):
        inputs = {name: value.to_numpy() for name, value in datum.loss_fn_inputs.items()}
        logprobs = np.asarray(result["logprobs"].to_numpy(), dtype=np.float64)
        weight = inputs["weights"] if "weights" in inputs else (inputs["advantages"] != 0)
        taught = weight != 0
        losses.append(float(-(logprobs * weight).sum()))
        weights.append(float(weight.sum()))
        if "logprobs" in inputs:
            gaps.append((logprobs - inputs["logprobs"])[taught])
    metrics = {
        "loss": sum(losses) / max(sum(weights), 1.0),
        "tokens": float(sum(datum.model_input.length for datum in data)),
    }
    if gaps:
        gap = np.concatenate(gaps)
        ratio = np.exp(gap)
        metrics["logprob_gap_mean"] = float(np.abs(gap).mean())
        metrics["logprob_gap_tail"] = float(((ratio < TAIL[0]) | (ratio > TAIL[1])).mean())
    return metrics
