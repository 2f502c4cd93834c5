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
from itertools import pairwise, takewhile

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


@dataclass(frozen=True)
class Segment:
    """Key/values of some tokens within a prompt, per layer (1, heads, length, dim), and the last one's hidden state."""

    layers: list[LayerKV]
    hidden: torch.Tensor

    @property
    def nbytes(self) -> int:
        """Size of its tensors."""
        return sum(k.nbytes + v.nbytes for k, v in self.layers) + self.hidden.nbytes


class SegmentCache:
    """Least recently used segments, at most `max_bytes` of them."""

    def __init__(self, max_bytes: int) -> None:
        self._segments: OrderedDict[bytes, Segment] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def clear(self) -> None:
        """Forgets everything: the weights have changed."""
        self._segments.clear()
        self._bytes = 0

    def get(self, key: bytes) -> Segment | None:
        """The segment stored under `key`, marked as just used."""
        segment = self._segments.get(key)
        if segment is not None:
            self._segments.move_to_end(key)
        return segment

    def put(self, key: bytes, segment: Segment) -> None:
        """Stores a segment and drops the oldest beyond the limit."""
        if (replaced := self._segments.pop(key, None)) is not None:
            self._bytes -= replaced.nbytes
        self._segments[key] = segment
        self._bytes += segment.nbytes
        while self._bytes > self._max_bytes and len(self._segments) > 1:
            self._bytes -= self._segments.popitem(last=False)[1].nbytes


def segments(tokens: Sequence[int], ends: frozenset[int]) -> list[int]:
    """Where the segments of a prompt end, as positions; the last one is the prompt's end.

    What follows the last of the tokens `ends` (the ends of turns) opens the model's turn. A segment ends wherever that
    opening follows an end, so the prompts of an episode's earlier turns are segments of its later ones. It also ends
    behind any other end once it has SHORTEST tokens, as behind the system prompt, and in any case after LONGEST.
    """
    n = len(tokens)
    last = max((position for position, token in enumerate(tokens, 1) if token in ends), default=n)
    opening = list(tokens[last:])
    opened: set[int] = set()
    cuts, start = [], 0
    for position, token in enumerate(tokens, 1):
        long_enough = position - start >= SHORTEST
        if token in ends and list(tokens[position : position + len(opening)]) == opening:
            opened.add(position + len(opening))
            long_enough = False
        if position in opened or position == n or (token in ends and long_enough) or position - start == LONGEST:
            cuts.append(position)
            start = position
    return cuts


def prefill(model: Model, tokens: Sequence[int], ends: frozenset[int], cache: SegmentCache) -> Prefilled:
    """Computes the prompt's key/values and the hidden state of its last token, reusing stored segments."""
    ids = np.asarray(tokens, dtype="<i4")
    bounds = [0, *segments(tokens, ends)]
    keys, state = [], hashlib.blake2b(digest_size=16)
    for start, end in pairwise(bounds):
        state.update(end.to_bytes(8, "little") + ids[start:end].tobytes())
        keys.append(state.digest())
    found = [segment for segment in takewhile(lambda segment: segment is not None, map(cache.get, keys)) if segment]
    past = _assemble([segment.layers for segment in found])
    hidden = found[-1].hidden if found else None
    for key, (start, end) in list(zip(keys, pairwise(bounds), strict=True))[len(found) :]:
        part = torch.tensor([tokens[start:end]], device=model.device)
        hidden = model.body(input_ids=part, cache=past, use_cache=True).last_hidden_state[:, -1].clone()
        kept = [(layer.keys[:, :, start:].clone(), layer.values[:, :, start:].clone()) for layer in past.layers]
        cache.put(key, Segment(kept, hidden))
    assert hidden is not None, "a prompt has at least one token"
    return Prefilled(list(tokens), [(layer.keys, layer.values) for layer in past.layers], hidden)


def _assemble(found: list[list[LayerKV]]) -> DynamicCache:
    past = DynamicCache()
    for layer, parts in enumerate(zip(*found, strict=True)):
        past.update(torch.cat([k for k, _ in parts], dim=2), torch.cat([v for _, v in parts], dim=2), layer)
    return past
