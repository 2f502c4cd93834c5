"""One sampled sequence, the key it is stored under, and the bytes of both."""

import hashlib
import json
import math
import operator
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SampleRow = tuple[bytes, str, bytes, bytes, str, int, int]
"""Key digest, policy, tokens (int32), logprobs (float32), stop reason, cached tokens, checksum."""


@dataclass(frozen=True)
class Sample:
    """What a policy answered to one prompt.

    Logprobs are rounded to float32 here, so that the first run computes with the very numbers a replay will read.
    Sequences become tuples. `cached_tokens` counts the prompt tokens that were billed as cached.

    Raises:
        ValueError: tokens and logprobs differ in length, a token does not fit int32, a logprob is NaN.
    """

    tokens: Sequence[int]
    logprobs: Sequence[float]
    stop_reason: str
    cached_tokens: int = 0

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.logprobs):
            raise ValueError(f"{len(self.tokens)} tokens but {len(self.logprobs)} logprobs")
        if any(math.isnan(logprob) for logprob in self.logprobs):
            raise ValueError("a logprob is NaN")
        try:
            object.__setattr__(self, "tokens", _unpack("i", _pack("i", self.tokens)))
            object.__setattr__(self, "logprobs", _unpack("f", _pack("f", self.logprobs)))
        except (struct.error, OverflowError) as error:
            raise ValueError(f"a token or logprob cannot be stored: {error}") from error


@dataclass(frozen=True)
class SampleKey:
    """What a sample depends on: `policy` is a lineage, `params` canonical JSON, `index` the row of the request."""

    policy: str
    prompt: Sequence[int]
    params: str
    seed: int
    index: int

    @cached_property
    def digest(self) -> bytes:
        """BLAKE2b, 32 bytes. The JSON header ends itself and the prompt fills the rest, so no two keys share bytes."""
        header = json.dumps([self.policy, self.params, operator.index(self.seed), operator.index(self.index)])
        return hashlib.blake2b(header.encode() + _pack("q", self.prompt), digest_size=32).digest()


def to_row(key: SampleKey, sample: Sample) -> SampleRow:
    """The database row of a sample, checksum last."""
    tokens, logprobs = _pack("i", sample.tokens), _pack("f", sample.logprobs)
    crc = _checksum(key.digest, tokens, logprobs, sample.stop_reason, sample.cached_tokens)
    return key.digest, key.policy, tokens, logprobs, sample.stop_reason, sample.cached_tokens, crc


def from_row(digest: bytes, tokens: bytes, logprobs: bytes, stop_reason: str, cached_tokens: int, crc: int) -> Sample:
    """The sample that `to_row` wrote.

    Raises:
        ValueError: the row is not what was written.
    """
    try:
        if crc != _checksum(digest, tokens, logprobs, stop_reason, cached_tokens):
            raise ValueError("a row's checksum does not match")
        return Sample(_unpack("i", tokens), _unpack("f", logprobs), stop_reason, cached_tokens)
    except (TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"a row is malformed: {error}") from error


def _checksum(digest: bytes, tokens: bytes, logprobs: bytes, stop_reason: str, cached_tokens: int) -> int:
    rest = json.dumps([len(tokens), len(logprobs), stop_reason, cached_tokens]).encode()
    return zlib.crc32(digest + rest + tokens + logprobs)


def _pack(kind: str, values: Sequence[int] | Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values)


def _unpack(kind: str, blob: bytes) -> tuple[Any, ...]:
    return struct.unpack(f"<{len(blob) // struct.calcsize(f'<{kind}')}{kind}", blob)
