"""Names of policies: a hash of the base model and of everything done to it, so that equal names mean equal weights."""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any


def base_lineage(engine: str, model: str, fingerprint: str) -> str:
    """An untrained model: 32 hex digits, like every lineage. `fingerprint` identifies the weights behind the name."""
    return _name(["base", engine, model, fingerprint])


def adapted(parent: str, rank: int, seed: int, extra: Mapping[str, Any]) -> str:
    """The parent with a fresh LoRA adapter; `extra` holds what else decides its initial weights, like its targets."""
    return _name(["adapted", parent, rank, seed, _checked(extra)])


def updated(
    parent: str,
    data_digests: Sequence[bytes],
    loss_fn: str,
    loss_config: Mapping[str, Any],
    optimizer: Mapping[str, Any],
) -> str:
    """The parent after one optimizer step on data in this order, each given by its `digest_datum`."""
    data = [digest.hex() for digest in data_digests]
    return _name(["updated", parent, data, loss_fn, _checked(loss_config), _checked(optimizer)])


def digest_datum(tokens: Sequence[int], inputs: Mapping[str, Sequence[float] | Sequence[int]]) -> bytes:
    """SHA-256 of one training example: prompt tokens and named flat arrays (targets, weights, logprobs, advantages).

    An array of integers alone is hashed as int64, any other as float32, both little-endian, since that is what a
    trainer computes with. So 1 and 1.0 are told apart, which can cost an update made twice but never mix up two.
    """
    arrays = [("", tokens), *sorted(inputs.items())]
    kinds = ["q" if all(isinstance(value, Integral) for value in values) else "f" for _, values in arrays]
    header = [[name, kind, len(values)] for (name, values), kind in zip(arrays, kinds, strict=True)]
    digest = hashlib.sha256(json.dumps(header).encode())
    for (_, values), kind in zip(arrays, kinds, strict=True):
        digest.update(struct.pack(f"<{len(values)}{kind}", *values))
    return digest.digest()


def _name(parts: list[Any]) -> str:
    # JSON with sorted keys is unambiguous, and its floats are exact.
    text = json.dumps(parts, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    # JSON would write the keys 1 and "1" alike.
    for key, value in settings.items():
        if not isinstance(key, str):
            raise TypeError(f"settings of a lineage have names, not {key!r}")
        if isinstance(value, Mapping):
            _checked(value)
    return dict(settings)
