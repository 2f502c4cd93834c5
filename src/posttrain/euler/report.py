"""The aggregate of many rounds: four claims kept apart, what each language and strategy does, cost, and warnings."""

from collections.abc import Sequence
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.claims import Seen, claim_of, completed, proportion, shares
from posttrain.euler.curriculum import State
from posttrain.euler.gate import judge
from posttrain.euler.measures import measures
from posttrain.euler.memorized import WARNINGS
from posttrain.euler.planned import CANONICAL
from posttrain.euler.rounds import Round
from posttrain.euler.settings import ReportSettings


def report(rounds: Sequence[Round], state: State | None, settings: ReportSettings) -> dict[str, Any]:
    """What the JSON report holds; `state` is of the climb, None if there is none.

    Raises:
        DataError: there is no round, or one comes twice.
        SettingsError: see `ReportSettings.check`.
    """
    settings.check()
    ids = [each.id for each in rounds]
    if not ids or len(set(ids)) < len(ids):
        raise DataError(f"a report needs rounds, each once; {len(ids)} were given, {len(set(ids))} different ones")
    confidence = settings.confidence
    seen = completed(rounds)
    claims = {name: [each for each in seen if claim_of(each.round.manifest, each.rollout) == name] for name in _CLAIMS}
    canonical = [each for each in seen if each.rollout.planned.strategy == CANONICAL and not _transfer(each)]
    current = [each for each in seen if each.rollout.planned.role == "current"]
    return {
        "confidence": confidence,
        "rounds": [_round(each) for each in rounds],
        "mastery": _mastery(rounds, state) | {"practised": _claim(claims["practised"], confidence)},
        **{name: _claim(claims[name], confidence) for name in _CLAIMS if name != "practised"},
        "languages": [_language(name, rows, confidence) for name, rows in _by_language(canonical).items()],
        "strategies": shares(current, confidence, "model", "problem", "language", "strategy"),
        "memorization": [_warning(kind, seen, confidence) for kind in WARNINGS] if seen else [],
        "left_out": _left_out(rounds, seen),
    }


_CLAIMS = ("practised", "forward_transfer", "regression", "generalization")


def _claim(seen: Sequence[Seen], confidence: float) -> dict[str, Any]:
    return {
        "models": shares(seen, confidence, "model"),
        "problems": shares(seen, confidence, "model", "role", "problem", "language"),
    }


def _round(each: Round) -> dict[str, Any]:
    manifest, verdict = each.manifest, judge(each)
    return {
        "round": each.id[:12],
        "started": manifest.started,
        "model": f"{manifest.signature.model} {manifest.signature.digest[:8]}",
        "mode": manifest.kind.mode,
        "origin": manifest.kind.origin,
        "problem": manifest.problem,
        "outcome": verdict.outcome,
        "reasons": list(verdict.reasons),
    }


def _mastery(rounds: Sequence[Round], state: State | None) -> dict[str, Any]:
    """The frontier, and what each problem behind it took, as far as its rounds are among those of the report."""
    if state is None:
        return {"highest_mastered": None, "current": None, "mastered": []}
    by_id = {each.id: each for each in rounds}
    mastered = []
    for step in state.mastered:
        sampled = [by_id[a.round] for a in state.applied if a.problem == step.problem and a.round in by_id]
        rollouts = [rollout for each in sampled for rollout in each.rollouts]
        mastered.append(
            {
                "problem": step.problem,
                "signature": step.signature[:8],
                "rounds": len(sampled),
                "rollouts": len(rollouts),
                "tokens": sum(rollout.tokens_in + rollout.tokens_out for rollout in rollouts),
            }
        )
    return {"highest_mastered": state.highest_mastered, "current": state.current, "mastered": mastered}


def _by_language(seen: Sequence[Seen]) -> dict[str, list[Seen]]:
    groups: dict[str, list[Seen]] = {}
    for each in seen:
        groups.setdefault(each.rollout.planned.language, []).append(each)
    return groups


def _language(name: str, seen: Sequence[Seen], confidence: float) -> dict[str, Any]:
    return {"language": name, **shares(seen, confidence)[0], **measures([each.rollout for each in seen])}


def _warning(kind: str, seen: Sequence[Seen], confidence: float) -> dict[str, Any]:
    """How often it is given, how many of these rollouts qualified, and where to look."""
    warned = [each for each in seen if kind in each.rollout.warnings]
    return {
        "warning": kind,
        **proportion(len(warned), len(seen), confidence),
        "qualified": sum(each.rollout.qualified for each in warned),
        "rollouts": [f"{each.round.id[:12]}/{each.rollout.planned.key}" for each in warned],
    }


def _left_out(rounds: Sequence[Round], seen: Sequence[Seen]) -> dict[str, int]:
    """Rollouts that no claim counts, by the reason."""
    replayed = sum(len(each.rollouts) for each in rounds if each.manifest.kind.origin != "live")
    lost = sum(len(each.rollouts) for each in rounds) - replayed - len(seen)
    unclaimed = [each for each in seen if claim_of(each.round.manifest, each.rollout) is None]
    reasons = {"explored": 0, "trained_on": 0, "transfer": 0}
    for each in unclaimed:
        canonical = each.rollout.planned.strategy == CANONICAL
        reasons["transfer" if _transfer(each) else "trained_on" if canonical else "explored"] += 1
    return {"replayed": replayed, "lost": lost, **reasons}


def _transfer(each: Seen) -> bool:
    return each.rollout.planned.role == "transfer"
