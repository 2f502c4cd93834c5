"""The recipe's last table: six arms on one test set, each against the base model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from statistics import fmean
from typing import Any

from posttrain.errors import DataError
from posttrain.stats.bootstrap import Estimate, mean_intervals
from posttrain.stats.paired import check_same_ids, compare_paired, holm
from posttrain.wiki.ablation_settings import AblationSettings

ARMS = {
    "closed_book": "Closed book",
    "base": "Base",
    "sft": "SFT",
    "grpo": "GRPO",
    "grpo_top1": "GRPO, top-1",
    "grpo_budget2": "GRPO, budget 2",
}
"""Arms in the order of the table, with the name of their row."""

BASELINE = "base"
STEPS = {"sft": "base", "grpo": "sft", "grpo_top1": "grpo", "grpo_budget2": "grpo"}
"""What each arm changes, as the arm that it is one step away from."""

_NUMBERS = ("f1", "em", "searches", "usd")
_DIGITS = 10
"""Digits kept, so that the last bits of a sum, which vary with the machine, never show up as a changed metric."""

Row = Mapping[str, Any]


def compare(
    arms: Mapping[str, Sequence[Row]], settings: AblationSettings, extras: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What metrics/ablation.json holds: means per arm, paired differences in F1 to the base model, and `extras`.

    Args:
        arms: scored rows of each of ARMS, in any order: id, f1, em (in [0, 1]), searches (a count), usd.
        settings: of the intervals, the sign flips and their seed.
        extras: what else belongs to the result, such as the hash of the test set and how often it was opened.

    Returns:
        `{"arms": {arm: {n, f1, f1_ci, em, searches, usd_per_question}}, "confidence",
        "deltas": {arm: {delta, ci, p_holm, smallest_detectable}}, "steps": {arm: the same to its arm in STEPS},
        **extras}`; p is corrected over all deltas, and over all steps.

    Raises:
        DataError: an arm is missing or unknown, question ids are repeated or differ between arms, a row lacks a
            number, or an extra would hide a result.
        SettingsError: see `AblationSettings.check`.
    """
    settings.check()
    if set(arms) != set(ARMS):
        raise DataError(f"ablation has arms {sorted(arms)}, needed {sorted(ARMS)}; `dvc repro` evaluates all of them")
    rows = {arm: _by_id(arm, arms[arm]) for arm in ARMS}
    ids = sorted(rows[BASELINE])
    for arm in ARMS:
        check_same_ids(arm, rows[arm], ids)
    f1 = {arm: {key: float(rows[arm][key]["f1"]) for key in ids} for arm in ARMS}
    resampling = asdict(settings)
    estimates = mean_intervals([list(scores.values()) for scores in f1.values()], **resampling)
    result: dict[str, Any] = {
        "arms": {
            arm: _arm_summary([rows[arm][key] for key in ids], estimate)
            for arm, estimate in zip(ARMS, estimates, strict=True)
        },
        "confidence": settings.confidence,
        "deltas": _deltas(f1, {arm: BASELINE for arm in ARMS if arm != BASELINE}, resampling),
        "steps": _deltas(f1, STEPS, resampling),
    }
    for key, value in (extras or {}).items():
        if key in result:
            raise DataError(f"the extra {key!r} would hide a result of that name; pass it under another")
        result[key] = value
    return result


def markdown_table(result: Mapping[str, Any]) -> str:
    """The result of `compare` as a Markdown table of six rows, newline-terminated, F1 and EM as shares."""
    interval = f"[{result['confidence'] * 100:g}% CI]"
    lines = [
        f"| Stage | F1 {interval} | EM | searches/q | $/q | Δ F1 vs base {interval} | p (Holm) |",
        "|---|---|---|---|---|---|---|",
    ]
    for arm, title in ARMS.items():
        mean = result["arms"][arm]
        cells = [title, f"{mean['f1']:.3f} {_span(mean['f1_ci'], '.3f')}", f"{mean['em']:.3f}"]
        cells += [f"{mean['searches']:.2f}", f"{mean['usd_per_question']:.5f}"]
        delta = result["deltas"].get(arm)
        if delta is None:
            cells += ["–", "–"]
        else:
            cells += [f"{delta['delta']:+z.3f} {_span(delta['ci'], '+z.3f')}", _p_text(delta["p_holm"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _by_id(arm: str, rows: Sequence[Row]) -> dict[str, Row]:
    """Rows by id, once each has its numbers and an id of its own."""
    by_id: dict[str, Row] = {}
    for row in rows:
        lacking = [key for key in _NUMBERS if not (isinstance(row.get(key), int | float) and isfinite(row[key]))]
        if lacking or row.get("id") is None:
            what = f"a finite {', '.join(lacking)}" if lacking else "its id"
            raise DataError(f"arm {arm}: row {row.get('id')} lacks {what}; score its episodes again")
        if row["id"] in by_id:
            raise DataError(f"arm {arm}: question {row['id']} is there twice; an arm takes one episode a question")
        by_id[row["id"]] = row
    if not by_id:
        raise DataError(f"arm {arm} has no scored rows; evaluate it first")
    return by_id


def _arm_summary(rows: Sequence[Row], f1: Estimate) -> dict[str, Any]:
    em, searches, usd = (round(fmean(float(row[key]) for row in rows), _DIGITS) for key in ("em", "searches", "usd"))
    return {
        "n": len(rows),
        "f1": round(f1.mean, _DIGITS),
        "f1_ci": _ends(f1),
        "em": em,
        "searches": searches,
        "usd_per_question": usd,
    }


def _deltas(
    f1: Mapping[str, Mapping[str, float]], against: Mapping[str, str], resampling: dict[str, Any]
) -> dict[str, Any]:
    """Paired differences of each arm in `against` to the arm named there."""
    paired = {arm: compare_paired({arm: f1[arm]}, f1[other], **resampling)[arm] for arm, other in against.items()}
    adjusted = holm([delta.p for delta in paired.values()])
    return {
        arm: {
            "delta": round(delta.difference.mean, _DIGITS),
            "ci": _ends(delta.difference),
            "p_holm": round(p, _DIGITS),
            "smallest_detectable": round(delta.smallest_detectable, _DIGITS),
        }
        for (arm, delta), p in zip(paired.items(), adjusted, strict=True)
    }


def _ends(estimate: Estimate) -> list[float]:
    return [round(estimate.low, _DIGITS), round(estimate.high, _DIGITS)]


def _span(ends: Sequence[float], form: str) -> str:
    return f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
