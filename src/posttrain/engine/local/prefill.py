"""Prefill with a shared past: key/values are computed in segments and kept under the hash of all tokens so far.

One rule serves three purposes: the system prompt is computed once for all questions, a prompt once for its group, and
the past of an episode once for its turns. Where segments end follows from the tokens alone, and each is computed
alone, so its bits do not depend on what else is in the batch or was evicted; that is what lets a killed run compute the
same samples again.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import torch
from transformers import DynamicCache

from posttrain.engine.local.load import Model

SHORTEST, LONGEST = 64, 512  # tokens in a segment: enough to keep the matrix units busy, few enough for the memory

LayerKV = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Prefilled:
    """A prompt of n tokens: per layer keys and values (1, heads, n, dim), and the last hidden state (1, width)."""

    tokens: list[int]
    layers: list[LayerKV]
    hidden: torch.Tensor

    @property
    def length(self) -> int:
        """Tokens in the prompt."""
        return self.layers[0][0].shape[2]


class SegmentCache:
    """Least recently used segments of key/values, at most `max_bytes` of them."""

    def __init__(self, max_bytes: int) -> None:
        self._segments: OrderedDict[bytes, list[LayerKV]] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def clear(self) -> None:
        """Forgets everything: the weights have changed."""
        self._segments.clear()
        self._bytes = 0

    def get(self, key: bytes) -> list[LayerKV] | None:
        """The segment stored under `key`, marked as just used."""
        segment = self._segments.get(key)
        if segment is not None:
            self._segments.move_to_end(key)
        return segment

    def put(self, key: bytes, segment: list[LayerKV]) -> None:
        """Stores a segment and drops the oldest beyond the limit."""
        self._bytes -= _nbytes(self._segments.pop(key, []))
        self._segments[key] = segment
        self._bytes += _nbytes(segment)
        while self._bytes > self._max_bytes and len(self._segments) > 1:
            self._bytes -= _nbytes(self._segments.popitem(last=False)[1])


def _nbytes(segment: list[LayerKV]) -> int:
    return sum(k.nbytes + v.nbytes for k, v in segment)


def segments(tokens: Sequence[int], ends: frozenset[int]) -> list[int]:
    """Where the segments of a prompt end, as positions; the rest, at least the last token, belongs to none.

    A segment ends behind one of the tokens `ends`, such as the end of a turn, once it has SHORTEST tokens, and in any
    case after LONGEST.
    """
    cuts, start = [], 0
    for position, token in enumerate(tokens[:-1], 1):
        if (token in ends and position - start >= SHORTEST) or position - start == LONGEST:
            cuts.append(position)
            start = position
    return cuts


def prefill(model: Model, tokens: Sequence[int], ends: frozenset[int], cache: SegmentCache) -> Prefilled:
    """Computes the prompt's key/values and the hidden state of its last token, reusing stored segments."""
    ids = np.asarray(tokens, dtype="<i4")
    cuts = segments(tokens, ends)
    keys, state = [], hashlib.blake2b(digest_size=16)
    for start, end in zip([0, *cuts], cuts, strict=False):
        state.update(end.to_bytes(8, "little") + ids[start:end].tobytes())
        keys.append(state.digest())
    found = list(takewhile(lambda segment: segment is not None, map(cache.get, keys)))
    past = _assemble([segment for segment in found if segment is not None])
    hidden = None
    bounds = [0, *cuts, len(tokens)]
    for number in range(len(found), len(cuts) + 1):
        start, end = bounds[number], bounds[number + 1]
        part = torch.tensor([tokens[start:end]], device=model.device)
        hidden = model.body(input_ids=part, cache=past, use_cache=True).last_hidden_state[:, -1]
        if number < len(cuts):
            kept = [(layer.keys[:, :, start:].clone(), layer.values[:, :, start:].clone()) for layer in past.layers]
            cache.put(keys[number], kept)
    assert hidden is not None, "the last token of a prompt is never in a stored segment"
    return Prefilled(list(tokens), [(layer.keys, layer.values) for layer in past.layers], hidden)


def _assemble(found: list[list[LayerKV]]) -> DynamicCache:
    past = DynamicCache()
    for layer, parts in enumerate(zip(*found, strict=True)):
        past.update(torch.cat([k for k, _ in parts], dim=2), torch.cat([v for _, v in parts], dim=2), layer)
    return past
