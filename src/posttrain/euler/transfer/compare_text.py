"""A comparison as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from posttrain.euler.tables import cell, count_cells, table

_COSTS = ("tokens_in", "tokens_out", "seconds_median", "seconds_longest", "tool_calls", "tool_failures")
_READING = (
    "This is diagnostic, with no threshold built in: a difference passes or fails only by a rule that was written down "
    "before the rounds were sampled. The {confidence:g}% intervals, Wilson's of shares and Newcombe's of differences, "
    "take rollouts as independent samples of these very tasks, and are not corrected for the number of rows."
)


def comparison_markdown(result: Mapping[str, Any]) -> str:
    """The result of `compare.compare`, newline-terminated."""
    one, other = result["one"], result["other"]
    replayed = "" if one["origin"] == "live" else "\n\nBoth rounds are replays: old rollouts, scored anew."
    parts = [
        f"# {one['model']} on {one['suite']}: {one['revision']} and {other['revision']}",
        _READING.format(confidence=result["confidence"] * 100) + replayed,
        _rounds(one, other),
        f"## Qualified\n\n{_shares([{'name': 'all', **result['total']}], ('name',), result)}",
        f"By task:\n\n{_shares(result['tasks'], ('name',), result)}",
        f"By language:\n\n{_shares(result['languages'], ('language',), result)}",
        f"By both:\n\n{_shares(result['cells'], ('name', 'language'), result)}",
        f"## Axes\n\nShares of rollouts; attempts to escape and breaches are counts.\n\n{_axes(one, other)}",
        f"## Cost\n\nTokens are means of a rollout.\n\n{_costs(one, other)}",
    ]
    return "\n\n".join(parts) + "\n"


def _rounds(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    rows = []
    for side in (one, other):
        trained = ", ".join(map(str, side["trained_on"])) or "none"
        facts = [side["revision"], side["round"], side["started"], trained, f"{side['lost']} of {side['rollouts']}"]
        rows.append(facts)
    return table(("revision", "round", "started", "trained on problems", "lost"), rows)


def _shares(rows: Sequence[Mapping[str, Any]], names: Sequence[str], result: Mapping[str, Any]) -> str:
    revisions = [result[side]["revision"] for side in ("one", "other")]
    heads = ["task" if name == "name" else name for name in names]
    for revision in revisions:
        heads += [f"{revision}: qualified", "share"]
    shown = []
    for row in rows:
        found = row["difference"]
        difference = f"{found['share']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}]"
        shown.append([*(row[name] for name in names), *count_cells(row["one"]), *count_cells(row["other"]), difference])
    return table([*heads, "difference"], shown)


def _axes(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    rows = [
        [side["revision"], *map(cell, side["axes"].values()), cell(side["escapes"]), cell(side["breaches"])]
        for side in (one, other)
    ]
    names = [name.replace("_", " ") for name in one["axes"]]
    return table(("revision", *names, "escape attempts", "breaches"), rows)


def _costs(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    rows = [[side["revision"], *(cell(side[name]) for name in _COSTS)] for side in (one, other)]
    return table(("revision", *(name.replace("_", " ") for name in _COSTS)), rows)
