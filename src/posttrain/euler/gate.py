"""Whether a round passes: enough qualified rollouts in every language, mastered problems kept, nothing missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from posttrain.errors import DataError
from posttrain.euler.planned import Planned
from posttrain.euler.rollouts import Rollout
from posttrain.euler.rounds import Round

Outcome = Literal["passed", "failed", "void"]
"""void: the round says nothing about the frontier, because of what it is, or because rollouts are missing that could
have let it pass."""


@dataclass(frozen=True)
class Verdict:
    """reasons: why it did not pass. languages: qualified rollouts at the current problem. regression: at mastered ones.

    Both count qualified and completed rollouts.
    """

    outcome: Outcome
    reasons: tuple[str, ...]
    languages: dict[str, tuple[int, int]]
    regression: tuple[int, int]


def judge(finished: Round) -> Verdict:
    """The gate's rule, with the settings that the round was begun with.

    Raises:
        DataError: the rollouts are not those that were planned.
    """
    manifest = finished.manifest
    check_complete(manifest.plan, finished.rollouts)
    current = [rollout for rollout in finished.rollouts if rollout.planned.role == "current"]
    languages = {
        name: [each for each in current if each.planned.language == name] for name in manifest.fanout.languages
    }
    regression = [rollout for rollout in finished.rollouts if rollout.planned.role == "regression"]
    lacking, hopeless = _lacking(languages, regression, finished)
    lost = [rollout for rollout in finished.rollouts if rollout.failure is not None]
    if lost:
        lacking.append(f"{len(lost)} rollouts were lost to the infrastructure, the first to: {lost[0].failure}")
    cannot = _cannot_unlock(finished)
    outcome: Outcome = "passed"
    if cannot or (lost and not hopeless):
        outcome = "void"
    elif lacking:
        outcome = "failed"
    counts = {name: _count(rollouts) for name, rollouts in languages.items()}
    return Verdict(outcome, tuple(cannot or lacking), counts, _count(regression))


def check_complete(plan: Sequence[Planned], rollouts: Sequence[Rollout]) -> None:
    """Raises DataError unless each planned rollout is there once, and no other."""
    keys = [rollout.planned.key for rollout in rollouts]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DataError(f"rollout {twice} comes twice; the results are not those of one round")
    wanted = {planned.key for planned in plan}
    for key in sorted(wanted ^ set(keys)):
        raise DataError(
            f"rollout {key} is {'missing' if key in wanted else 'not planned'}; finish the round, or redo it"
        )


def _cannot_unlock(finished: Round) -> list[str]:
    """What keeps a round of this kind from ever moving the frontier."""
    manifest = finished.manifest
    reasons = []
    if manifest.kind.mode != "canonical":
        reasons.append(f"a round in {manifest.kind.mode} mode unlocks nothing")
    if manifest.kind.origin != "live":
        reasons.append("a replayed round unlocks nothing; sample a new one with the scorer as it is now")
    if set(manifest.fanout.languages) != set(manifest.signature.languages):
        reasons.append("its languages are not those of the model's signature")
    return reasons


def _lacking(languages: dict[str, list[Rollout]], regression: list[Rollout], finished: Round) -> tuple[list[str], bool]:
    """What the gate misses, and whether it would miss it if every lost rollout had qualified."""
    gate = finished.manifest.gate
    lacking, hopeless = [], False
    for name, rollouts in languages.items():
        qualified, completed = _count(rollouts)
        if qualified < gate.required:
            lacking.append(f"{name}: {qualified} of {len(rollouts)} qualified, {gate.required} are required")
            hopeless |= qualified + len(rollouts) - completed < gate.required
    qualified, completed = _count(regression)
    if regression and (completed == 0 or qualified / completed < gate.min_regression_rate):
        rate = gate.min_regression_rate
        lacking.append(f"mastered problems: {qualified} of {completed} qualified, the rate must be {rate:g} or more")
        hopeless |= (qualified + len(regression) - completed) / len(regression) < rate
    return lacking, hopeless


def _count(rollouts: Sequence[Rollout]) -> tuple[int, int]:
    completed = [rollout for rollout in rollouts if rollout.failure is None]
    return sum(rollout.qualified for rollout in completed), len(completed)
