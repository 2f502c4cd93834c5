"""What summary.json of a round holds."""

from typing import Any

from posttrain.euler.gate import Verdict
from posttrain.euler.rounds import Round
from posttrain.euler.score import NAME


def summarize(finished: Round, verdict: Verdict) -> dict[str, Any]:
    """The verdict, and totals over the completed rollouts: tokens, seconds, tool calls and their failures, warnings."""
    completed = [rollout for rollout in finished.rollouts if rollout.failure is None]
    return {
        "round": finished.id,
        "mode": finished.manifest.kind.mode,
        "origin": finished.manifest.kind.origin,
        "problem": finished.manifest.problem,
        "scorer": NAME,
        "signature": finished.manifest.signature.digest,
        "outcome": verdict.outcome,
        "reasons": list(verdict.reasons),
        "languages": {name: {"qualified": q, "n": n} for name, (q, n) in verdict.languages.items()},
        "regression": {"qualified": verdict.regression[0], "n": verdict.regression[1]},
        "rollouts": len(finished.rollouts),
        "lost": len(finished.rollouts) - len(completed),
        "tokens_in": sum(rollout.tokens_in for rollout in completed),
        "tokens_out": sum(rollout.tokens_out for rollout in completed),
        "seconds": round(sum(rollout.seconds for rollout in completed), 3),
        "tool_calls": sum(rollout.tool_calls for rollout in completed),
        "tool_failures": sum(rollout.tool_failures for rollout in completed),
        "warned": sum(bool(rollout.warnings) for rollout in completed),
    }
