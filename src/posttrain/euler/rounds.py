"""A round that is over."""

from dataclasses import dataclass

from posttrain.euler.manifest import Manifest
from posttrain.euler.rollouts import Rollout


@dataclass(frozen=True)
class Round:
    """A round that is over, its files checked. id: SHA-256 of its manifest. rollouts: one for each that was planned."""

    id: str
    manifest: Manifest
    rollouts: tuple[Rollout, ...]
