"""Two checkpoints on the transfer suite, refused if their rounds differ in anything but the model's revision."""

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.claims import DIGITS, shares
from posttrain.euler.manifest import Manifest
from posttrain.euler.measures import measures
from posttrain.euler.round_receipt import read_round
from posttrain.euler.rounds import Round
from posttrain.euler.signature import differences
from posttrain.euler.transfer.report import GROUPINGS, about, check_suite, completed, named
from posttrain.euler.transfer.tasks import NAMES
from posttrain.stats.difference import newcombe


def compare(one: Path, other: Path, confidence: float) -> dict[str, Any]:
    """What two finished rounds found: `one` and `other` with what they cost, and tables of both with the difference.

    `total` and each row of `tasks`, `languages` and `cells` have the counts of both with Wilson's intervals, and
    `difference`: the share of `other` minus that of `one`, with Newcombe's interval for independent samples, not
    corrected for the number of rows. There is no verdict.

    Raises:
        DataError: a round is not complete, differs from its receipt or is not of the frozen suite; or they differ in
            something else than the revision, or in what they were trained on; the message has a line for each.
        SettingsError: `confidence` is not between 0 and 1.
    """
    first, second = read_round(one), read_round(other)
    for each in (first, second):
        check_suite(each)
    if differing := _differences(first, second):
        lines = "".join(f"\n  {line}" for line in differing)
        raise DataError(
            f"{one} and {other} cannot be compared, as they differ in more than the model's revision; sample one of "
            f"them again with the settings and the code of the other:{lines}"
        )
    return {
        "confidence": confidence,
        "one": _side(first),
        "other": _side(second),
        "total": _rows(first, second, confidence, ())[0],
        **{name: _rows(first, second, confidence, fields) for name, fields in GROUPINGS.items()},
    }


def _differences(one: Round, other: Round) -> list[str]:
    """All but the revision, and what the model was trained on, which belongs to it."""
    if one.id == other.id:
        return [f"round {one.id[:12]} is given twice"]
    lines = differences(*(replace(each.manifest.signature, revision="") for each in (one, other)))
    first, second = _conditions(one.manifest), _conditions(other.manifest)
    lines += [f"{name}: {first[name]!r} and {second[name]!r}" for name in first if first[name] != second[name]]
    if one.manifest.plan != other.manifest.plan:
        return [*lines, f"plan: {len(one.rollouts)} rollouts and {len(other.rollouts)} others"]
    counts, other_counts = _completed_by_cell(one), _completed_by_cell(other)
    for cell in dict.fromkeys((planned.problem, planned.language) for planned in one.manifest.plan):
        if counts[cell] != other_counts[cell] or not counts[cell]:
            what = f"{NAMES[cell[0]]} in {cell[1]}"
            lines.append(f"completed rollouts of {what}: {counts[cell]} and {other_counts[cell]}")
    return lines


def _conditions(manifest: Manifest) -> dict[str, Any]:
    """What must be equal beside signature and plan, by name."""
    parts = {"": asdict(manifest.kind), "fanout.": asdict(manifest.fanout), "gate.": asdict(manifest.gate)}
    named_parts = {f"{prefix}{name}": value for prefix, part in parts.items() for name, value in part.items()}
    return named_parts | {
        "problem": manifest.problem,
        "problem_set": manifest.problem_set,
        "problems_sha256": manifest.problems_sha256,
        "tasks": manifest.tasks,
    }


def _completed_by_cell(finished: Round) -> Counter[tuple[int, str]]:
    """By task and language."""
    planned = [each.rollout.planned for each in completed(finished)]
    return Counter((each.problem, each.language) for each in planned)


def _side(finished: Round) -> dict[str, Any]:
    return about(finished) | measures([each.rollout for each in completed(finished)])


def _rows(one: Round, other: Round, confidence: float, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """A row for each combination of the fields, which both rounds have in the same order."""
    rows = []
    pairs = zip(*(shares(completed(each), confidence, *fields) for each in (one, other)), strict=True)
    for first, second in pairs:
        keys = {name: first.pop(name) for name in fields}
        if keys != {name: second.pop(name) for name in fields}:
            raise DataError(f"the rounds have their rows in another order at {keys}; sample one of them again")
        ends = newcombe(_count(first), _count(second), confidence=confidence)
        difference = {"share": ends.mean, "low": ends.low, "high": ends.high}
        rounded = {name: round(value, DIGITS) for name, value in difference.items()}
        rows.append(named(keys) | {"one": first, "other": second, "difference": rounded})
    return rows


def _count(row: dict[str, Any]) -> tuple[int, int]:
    return row["qualified"], row["n"]
