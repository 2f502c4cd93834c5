"""What a session of the loopback service holds: policies in training, and policies to sample from."""

import asyncio
import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from posttrain.engine.local.sampler import LocalSampler
from tests.loopback.shelf import Refusal

if TYPE_CHECKING:
    from posttrain.engine.local.trainer import LocalTrainer  # brings peft, which takes 3 s to import

BLOCK = 16
"""Tokens: prompts of one sampling session share their beginnings in whole blocks."""


@dataclass
class Model:
    """One policy in training; operation n waits for `done[n - 1]`, and 0 is its making."""

    rank: int
    done: defaultdict[int, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    trainer: "LocalTrainer | None" = None

    def ready(self) -> "LocalTrainer":
        """Raises Refusal if it could not be made."""
        if self.trainer is None:
            raise Refusal(400, "the model could not be made")
        return self.trainer


@dataclass
class Sampling:
    """One sampling session."""

    sampler: LocalSampler
    model_path: str | None
    seen: set[bytes] = field(default_factory=set)

    def cache_hits(self, prompt: list[int]) -> int:
        """Tokens of the prompt that an earlier one began with; remembers this one."""
        hits, digest = 0, hashlib.blake2b(digest_size=16)
        for end in range(BLOCK, len(prompt), BLOCK):
            digest.update(np.asarray(prompt[end - BLOCK : end], dtype="<i4").tobytes())
            if digest.digest() in self.seen:
                hits = end
            self.seen.add(digest.digest())
        return hits
