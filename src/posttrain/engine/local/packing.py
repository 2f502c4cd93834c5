"""Which training examples share a pass: those that begin alike, so that the common beginning is computed once."""

from collections.abc import Sequence
from dataclasses import dataclass

from posttrain.errors import EngineError


@dataclass(frozen=True)
class Pack:
    """Examples (by position in the batch) whose first `prefix` tokens are equal and teach nothing."""

    members: tuple[int, ...]
    prefix: int
    width: int

    @property
    def cost(self) -> int:
        """Padded tokens that a pass over the pack computes."""
        return self.prefix + len(self.members) * self.width


def pack(tokens: Sequence[Sequence[int]], first_taught: Sequence[int], limit: int) -> list[Pack]:
    """Packs examples greedily in lexicographic order, where equal beginnings are neighbours.

    An example joins the current pack if that costs no more than opening a new one and stays within `limit` tokens.
    first_taught: per example, the first position whose target is taught; it and what follows stay out of the prefix.

    Raises:
        EngineError: one example alone is longer than `limit`.
    """
    packs: list[Pack] = []
    for member in sorted(range(len(tokens)), key=lambda i: (list(tokens[i]), i)):
        alone = _pack((member,), tokens, first_taught)
        if alone.cost > limit:
            raise EngineError(
                f"one example has {alone.cost} tokens and engine.micro_batch_tokens is {limit}; raise it or lower "
                "harness.max_searches, harness.top_k or harness.max_tokens"
            )
        if packs:
            joined = _pack((*packs[-1].members, member), tokens, first_taught)
            if joined.cost <= min(limit, packs[-1].cost + alone.cost):
                packs[-1] = joined
                continue
        packs.append(alone)
    return packs


def _pack(members: tuple[int, ...], tokens: Sequence[Sequence[int]], first_taught: Sequence[int]) -> Pack:
    # In lexicographic order the first and the last member have the shortest beginning in common.
    low, high = tokens[members[0]], tokens[members[-1]]
    common = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    prefix = min([common, *(first_taught[m] for m in members)])
    return Pack(members, prefix, max(len(tokens[m]) for m in members) - prefix)
