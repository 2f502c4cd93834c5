"""Which of the report's claims a rollout is evidence for: at most one, so that none borrows from another.

Mastery itself is no rate but the frontier, which only the gate moves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from posttrain.euler.manifest import Manifest
from posttrain.euler.planned import CANONICAL
from posttrain.euler.rollouts import Rollout
from posttrain.euler.rounds import Round
from posttrain.stats.proportions import wilson

Claim = Literal["practised", "forward_transfer", "regression", "generalization"]
"""practised: the current problem, by a model that was trained on it. forward_transfer: the current problem, before
any training on it. regression: mastered problems. generalization: problems beyond the frontier without training on
them, and generated variants."""
DIGITS = 6
"""Kept of shares and bounds."""


@dataclass(frozen=True)
class Seen:
    """A completed rollout with its round."""

    round: Round
    rollout: Rollout

    @property
    def model(self) -> str:
        """The model's name, with the first digits of its signature, which tell its versions apart."""
        signature = self.round.manifest.signature
        return f"{signature.model} {signature.digest[:8]}"


def completed(rounds: Iterable[Round]) -> list[Seen]:
    """The rollouts of live rounds that the infrastructure did not lose."""
    return [
        Seen(each, rollout)
        for each in rounds
        if each.manifest.kind.origin == "live"
        for rollout in each.rollouts
        if rollout.failure is None
    ]


def claim_of(manifest: Manifest, rollout: Rollout) -> Claim | None:
    """None for explore mode, whose prompts differ, for problems beyond the frontier that were trained on, and for the
    transfer suite, which has a report of its own."""
    planned = rollout.planned
    if planned.strategy != CANONICAL or planned.role == "transfer":
        return None
    if planned.role == "regression":
        return "regression"
    if planned.role == "variant":
        return "generalization"
    trained = planned.problem in manifest.trained_on
    if planned.role == "current":
        return "practised" if trained else "forward_transfer"
    return None if trained else "generalization"


def shares(seen: Sequence[Seen], confidence: float, *names: str) -> list[dict[str, Any]]:
    """Qualified rollouts for each combination of `names` ("model", or a field of `Planned`), with Wilson's interval.

    Each row: the names, n, qualified, share, low, high; in the order in which the combinations first come.
    """
    groups: dict[tuple[Any, ...], list[Seen]] = {}
    for each in seen:
        groups.setdefault(tuple(_value(each, name) for name in names), []).append(each)
    rows = []
    for key, members in groups.items():
        qualified = sum(each.rollout.qualified for each in members)
        row = dict(zip(names, key, strict=True)) | proportion(qualified, len(members), confidence)
        rows.append({("qualified" if name == "hits" else name): value for name, value in row.items()})
    return rows


def proportion(hits: int, n: int, confidence: float) -> dict[str, Any]:
    """n, hits, share and the interval's ends, rounded."""
    estimate = wilson(hits, n, confidence=confidence)
    ends = {"share": estimate.mean, "low": estimate.low, "high": estimate.high}
    return {"n": n, "hits": hits} | {name: round(value, DIGITS) for name, value in ends.items()}


def _value(seen: Seen, name: str) -> Any:
    return seen.model if name == "model" else getattr(seen.rollout.planned, name)
