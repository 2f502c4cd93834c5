"""What goes wrong in an RL run, read off its log while it runs, each with the setting that mends it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

Row = Mapping[str, Any]

FLAT_STEPS = 15
FLAT_RISE = 0.02
"""Least rise, along the straight line fitted to the last FLAT_STEPS rewards, that counts as learning."""
SATURATED_REWARD = 0.9
"""A reward this high may be flat: there is little left to gain, and skipped groups tell when it is nothing."""
SKIPPED_SHARE = 0.9
FEW_SEARCHES = 1.2
SEARCHES_LOST = 0.3
"""Searches an episode lost since the run's best step, for few of them to count as falling."""
BUDGET_SHARE = 0.05
GROWTH = 1.5
GROWTH_STEPS = 10
GROWTH_MEAN_OF = 3
"""Growth is the mean of this many last rows over the mean of as many rows GROWTH_STEPS earlier (or the first ones)."""
GAP_TAIL_SHARE = 0.1


@dataclass(frozen=True)
class Alarm:
    """A condition that began at `step`; `name` is stable, `message` says what was seen and what to change."""

    step: int
    name: str
    message: str


def alarms(rows: Sequence[Row]) -> list[Alarm]:
    """Alarms of a run in order of step, each once when its condition begins, and again only if it ended in between.

    Args:
        rows: one row a step, in order: step, reward, skipped_groups (share of groups), searches (mean an episode),
            answered, budget_hit (shares of episodes), tokens, answer_length (means), logprob_gap_mean,
            logprob_gap_tail (share of tokens outside 0.9 to 1.1). A key that is absent or None, because a recipe does
            not log it or a step trained on nothing, raises no alarm.
    """
    found: list[Alarm] = []
    for name, condition in _CONDITIONS.items():
        held = False
        for end in range(1, len(rows) + 1):
            message = condition(rows[:end])
            if message and not held:
                found.append(Alarm(int(rows[end - 1]["step"]), name, message))
            held = message is not None
    return sorted(found, key=lambda alarm: alarm.step)


def _reward_flat(rows: Sequence[Row]) -> str | None:
    rewards = _series(rows, "reward")[-FLAT_STEPS:]
    if len(rewards) < FLAT_STEPS or np.mean(rewards) >= SATURATED_REWARD:
        return None
    rise = float(np.polyfit(range(FLAT_STEPS), rewards, 1)[0]) * (FLAT_STEPS - 1)
    if rise >= FLAT_RISE:
        return None
    return (
        f"reward changed by {rise:+.3f} in {FLAT_STEPS} steps, to {rewards[-1]:.3f}; raise grpo.lr, or grpo.questions "
        "and grpo.group for a less noisy gradient; if it is falling, lower grpo.lr and go back to an earlier state"
    )


def _skipped_groups(rows: Sequence[Row]) -> str | None:
    share = _last(rows, "skipped_groups")
    if share is None or share < SKIPPED_SHARE:
        return None
    reward = _last(rows, "reward")
    seen = f"{share:.0%} of the groups were skipped, all their rewards being equal"
    if reward is not None and reward >= 0.5:
        return f"{seen} and mostly high; the policy has these questions solved: stop here, or train on harder ones"
    return f"{seen} and mostly low; raise grpo.group so that some attempts differ, or train on easier questions first"


def _searches_falling(rows: Sequence[Row]) -> str | None:
    searches, now = _series(rows, "searches"), _last(rows, "searches")
    if now is None or now > FEW_SEARCHES or max(searches) - now < SEARCHES_LOST:
        return None
    return (
        f"searches fell from {max(searches):.2f} to {now:.2f} an episode; the policy learns to guess after one: lower "
        "grpo.lr, go back to an earlier state, and ask in prompts/research.md for one search per hop"
    )


def _budget_hit(rows: Sequence[Row]) -> str | None:
    share = _last(rows, "budget_hit")
    if share is None or share < BUDGET_SHARE:
        return None
    return (
        f"{share:.1%} of the episodes ran out of searches; raise harness.max_searches, or say more plainly in "
        "prompts/research.md when to stop and answer"
    )


def _tokens_growing(rows: Sequence[Row]) -> str | None:
    grown = _growth(_series(rows, "tokens"))
    if grown is None:
        return None
    return (
        f"tokens an episode grew from {grown[0]:.0f} to {grown[1]:.0f} within {GROWTH_STEPS} steps; lower "
        "harness.max_tokens or grpo.lr, and read some traces for repetition"
    )


def _answers_growing(rows: Sequence[Row]) -> str | None:
    grown = _growth(_series(rows, "answer_length"))
    if grown is None:
        return None
    return (
        f"answer length grew from {grown[0]:.1f} to {grown[1]:.1f} within {GROWTH_STEPS} steps; the policy hedges: ask "
        "in prompts/research.md for the shortest answer, and lower grpo.lr"
    )


def _logprob_gap(rows: Sequence[Row]) -> str | None:
    share, mean = _last(rows, "logprob_gap_tail"), _last(rows, "logprob_gap_mean")
    if share is None or share < GAP_TAIL_SHARE:
        return None
    beside = "" if mean is None else f" (mean gap {mean:+.3f})"
    return (
        f"{share:.1%} of the sampled tokens have a trainer-to-sampler ratio outside 0.9 to 1.1{beside}; the samples no "
        "longer come from the policy that is trained: lower grpo.lr and sample every step from the newest weights"
    )


_CONDITIONS: dict[str, Callable[[Sequence[Row]], str | None]] = {
    "reward_flat": _reward_flat,
    "skipped_groups": _skipped_groups,
    "searches_falling": _searches_falling,
    "budget_hit": _budget_hit,
    "tokens_growing": _tokens_growing,
    "answer_length_growing": _answers_growing,
    "logprob_gap": _logprob_gap,
}


def _last(rows: Sequence[Row], key: str) -> float | None:
    """The newest row's value; None if it has none or it is not finite."""
    return next(iter(_series(rows[-1:], key)), None)


def _series(rows: Sequence[Row], key: str) -> list[float]:
    """The finite values of the rows that have `key`."""
    return [float(row[key]) for row in rows if row.get(key) is not None and isfinite(row[key])]


def _growth(values: Sequence[float]) -> tuple[float, float] | None:
    """Earlier and recent mean, if the recent is at least GROWTH times the earlier; None before two whole windows."""
    if len(values) < 2 * GROWTH_MEAN_OF:
        return None
    start = max(0, len(values) - GROWTH_MEAN_OF - GROWTH_STEPS)
    earlier = float(np.mean(values[start : start + GROWTH_MEAN_OF]))
    recent = float(np.mean(values[-GROWTH_MEAN_OF:]))
    return (earlier, recent) if recent >= GROWTH * earlier > 0 else None
