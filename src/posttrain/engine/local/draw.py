"""Drawing the next token of each row from its own random stream."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray


class Stream:
    """Random numbers that depend on the seed and the prompt alone, whatever else is in the batch."""

    def __init__(self, seed: int, prompt: Sequence[int]) -> None:
        digest = hashlib.blake2b(np.asarray([seed, *prompt], dtype="<i8").tobytes(), digest_size=16).digest()
        self._generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))

    def exponentials(self, count: int) -> NDArray[np.float64]:
        """The next exponentially distributed numbers, mean 1."""
        return self._generator.standard_exponential(count)


def draw_tokens(
    logits: torch.Tensor, streams: Sequence[Stream], temperature: float, top_k: int, top_p: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draws one token per row of `logits` (B, V), by an exponential race: the token with the largest p / e wins.

    Rounding, which depends on what else is in the batch, changes a draw only where two tokens are all but level;
    inverting the cumulative distribution has V steps to slip on.
    temperature 0 takes the most likely token, the lowest id among equals. top_k <= 0 keeps all tokens; top_p keeps the
    smallest set of tokens that holds that much probability.

    Returns:
        tokens (B,) and their log probabilities (B,) under the model itself: temperature 1, nothing cut off.
    """
    if logits.device.type == "mps":  # it has no float64
        logits = logits.cpu()
    logprobs = torch.log_softmax(logits, dim=-1)
    if temperature == 0:
        tokens = logits.argmax(dim=-1)
    else:
        probabilities = _filtered(torch.softmax(logits / temperature, dim=-1), top_k, top_p).double()
        race = np.stack([stream.exponentials(probabilities.shape[-1]) for stream in streams])
        tokens = (probabilities / torch.from_numpy(race).to(logits.device)).argmax(dim=-1)
    return tokens, logprobs.gather(1, tokens[:, None])[:, 0]


def _filtered(probabilities: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    if 0 < top_k < probabilities.shape[-1]:
        floor = probabilities.topk(top_k, dim=-1).values[:, -1:]
        probabilities = torch.where(probabilities >= floor, probabilities, 0.0)
    if top_p < 1:
        ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(dim=-1) - ordered
        kept = torch.where(before < top_p * ordered.sum(dim=-1, keepdim=True), ordered, 0.0)
        probabilities = torch.zeros_like(probabilities).scatter(1, order, kept)
    return probabilities
