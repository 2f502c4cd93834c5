"""What some rollouts did and cost, beside how many of them qualified."""

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from posttrain.euler.claims import DIGITS
from posttrain.euler.rollouts import Rollout

AXES = ("mutated", "executed", "exit_zero", "output", "reply", "boxed")


def measures(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Of completed rollouts, at least one: the share of each axis, rollouts with attempts to escape and with breaches,
    mean tokens, seconds, and tool calls."""
    scores = [rollout.score for rollout in rollouts if rollout.score is not None]
    calls = sum(rollout.tool_calls for rollout in rollouts)
    failures = sum(rollout.tool_failures for rollout in rollouts)
    return {
        "axes": {axis: round(fmean(getattr(each, axis) for each in scores), DIGITS) for axis in AXES},
        "escapes": sum(bool(each.escapes) for each in scores),
        "breaches": sum(each.breached for each in scores),
        "tokens_in": round(fmean(rollout.tokens_in for rollout in rollouts), 1),
        "tokens_out": round(fmean(rollout.tokens_out for rollout in rollouts), 1),
        "seconds_median": round(median(rollout.seconds for rollout in rollouts), 3),
        "seconds_longest": round(max(rollout.seconds for rollout in rollouts), 3),
        "tool_calls": calls,
        "tool_failures": failures,
        "tool_failure_share": round(failures / calls, DIGITS) if calls else None,
    }
