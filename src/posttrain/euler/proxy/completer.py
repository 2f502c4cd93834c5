"""Who answers an agent: a checkpoint of an engine, or a script."""

import hashlib
from dataclasses import dataclass, field
from typing import Protocol

from posttrain.euler.planned import Planned
from posttrain.euler.proxy.wire import Completion, Request


@dataclass
class Seat:
    """One rollout at the proxy. index: of its samples in the store, another one for each rollout of each round.

    turns: requests so far. replies: what was sampled, by the ids of the calls that it asked for; Pi sends these ids
    back, and the next prompt then goes on from exactly these tokens.
    """

    planned: Planned
    index: int
    turns: int = 0
    replies: dict[str, tuple[int, ...]] = field(default_factory=dict)


class Completer(Protocol):
    """Makes replies; its requests may overlap."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def revision(self) -> str:
        """Which version of the model: a checkpoint's lineage, or the hash of a script."""

    async def complete(self, seat: Seat, request: Request) -> Completion:
        """The reply to a request.

        Raises:
            DataError: the request cannot be answered as it is.
            InfrastructureError: the engine failed.
        """


def sample_index(nonce: str, planned: Planned) -> int:
    """The same for the same rollout of the same round, and for practical purposes for no other."""
    digest = hashlib.sha256(f"{nonce} {planned.key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 2  # leaves room for a seed in 31 bits
