"""Prefill with a shared past: key/values are computed in blocks of tokens and kept under the hash of all tokens so far.

One rule serves three purposes: the system prompt is computed once for all questions, a prompt once for its group, and
the past of an episode once for its turns. Every block is computed alone, so its bits depend on its own tokens only and
not on what else is in the batch or was evicted; that is what lets a killed run compute the same samples again.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache

from posttrain.engine.local.load import Model

BLOCK = 64  # tokens; shorter blocks recompute less of a turn's tail, longer ones use the matrix units better

LayerKV = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Prefilled:
    """A prompt of n tokens as the model sees it: per layer (1, heads, n, dim) keys and values; last hidden (1, width)."""

    tokens: list[int]
    layers: list[LayerKV]
    hidden: torch.Tensor

    @property
    def length(self) -> int:
        """Tokens in the prompt."""
        return self.layers[0][0].shape[2]


class BlockCache:
    """Least recently used blocks of key/values, at most `max_bytes` of them."""

    def __init__(self, max_bytes: int) -> None:
        self._blocks: OrderedDict[bytes, list[LayerKV]] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def clear(self) -> None:
        """Forgets everything: the weights have changed."""
        self._blocks.clear()
        self._bytes = 0

    def get(self, key: bytes) -> list[LayerKV] | None:
        """The block stored under `key`, marked as just used."""
        block = self._blocks.get(key)
        if block is not None:
            self._blocks.move_to_end(key)
        return block

    def put(self, key: bytes, block: list[LayerKV]) -> None:
        """Stores a block and drops the oldest beyond the limit."""
        self._blocks[key] = block
        self._bytes += _nbytes(block)
        while self._bytes > self._max_bytes and len(self._blocks) > 1:
            self._bytes -= _nbytes(self._blocks.popitem(last=False)[1])


def _nbytes(block: list[LayerKV]) -> int:
    return sum(k.nbytes + v.nbytes for k, v in block)


def block_keys(tokens: Sequence[int]) -> list[bytes]:
    """One key for each whole block before the last token; key j names all tokens up to the end of block j."""
    ids = np.asarray(tokens, dtype="<i4")
    keys, state = [], hashlib.blake2b(digest_size=16)
    for start in range(0, (len(tokens) - 1) // BLOCK * BLOCK, BLOCK):
        state.update(ids[start : start + BLOCK].tobytes())
        keys.append(state.digest())
    return keys


def prefill(model: Model, tokens: Sequence[int], blocks: BlockCache) -> Prefilled:
    """Computes the prompt's key/values and the hidden state of its last token, reusing stored blocks."""
    keys = block_keys(tokens)
    found = []
    for key in keys:
        block = blocks.get(key)
        if block is None:
            break
        found.append(block)
    cache = _assemble(found)
    output = None
    for start in range(len(found) * BLOCK, len(tokens), BLOCK):
        ids = torch.tensor([tokens[start : start + BLOCK]], device=model.device)
        output = model.body(input_ids=ids, cache=cache, use_cache=True).last_hidden_state
        if start // BLOCK < len(keys):
            blocks.put(
                keys[start // BLOCK],
                [(layer.keys[:, :, start:].clone(), layer.values[:, :, start:].clone()) for layer in cache.layers],
            )
    assert output is not None, "the last token of a prompt is never in a stored block"
    layers = [(layer.keys, layer.values) for layer in cache.layers]
    return Prefilled(list(tokens), layers, output[:, -1])


def _assemble(found: list[list[LayerKV]]) -> DynamicCache:
    cache = DynamicCache()
    for layer, parts in enumerate(zip(*found, strict=True)):
        keys = torch.cat([k for k, _ in parts], dim=2)
        values = torch.cat([v for _, v in parts], dim=2)
        cache.update(keys, values, layer)
    return cache
