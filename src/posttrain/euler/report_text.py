"""The report as Markdown."""

from collections.abc import Mapping
from typing import Any

from posttrain.euler.tables import cell, count_cells, count_heads, table

_CLAIMS = {
    "forward_transfer": (
        "Forward transfer",
        "The problem at the frontier, sampled before any training on it.",
    ),
    "regression": ("Regression", "Mastered problems, sampled again."),
    "generalization": (
        "Generalization",
        "Problems beyond the frontier that no training touched, and generated variants.",
    ),
}
_WARNINGS = {
    "constant_print": "the program prints the answer as a literal",
    "answer_in_source": "the answer stands in the program, and not in the problem",
    "answer_without_run": "the reply states the answer, and no run printed it",
}


def report_markdown(result: Mapping[str, Any]) -> str:
    """The result of `report.report`, newline-terminated."""
    parts = ["# Climbing the problems", _mastery(result)]
    for name, (title, meaning) in _CLAIMS.items():
        parts.append(f"## {title}\n\n{meaning}\n\n{_claim(result[name], result['confidence'])}")
    parts += [_languages(result), _strategies(result), _memorization(result), _rounds(result), _left_out(result)]
    return "\n\n".join(parts) + "\n"


def _mastery(result: Mapping[str, Any]) -> str:
    mastery = result["mastery"]
    if mastery["highest_mastered"] is None:
        said = "No climb was given, so nothing is known of a frontier."
    else:
        said = (
            f"Highest problem mastered without a gap: {mastery['highest_mastered']}. "
            f"Now at problem {mastery['current']}. Passing a fixed problem often enough can be memory; see the other "
            "claims before calling it more."
        )
    keys = ("problem", "signature", "rounds", "rollouts", "tokens")
    behind = table(keys, [[cell(row[key]) for key in keys] for row in mastery["mastered"]])
    practised = _claim(mastery["practised"], result["confidence"])
    return f"## Mastery\n\n{said}\n\n{behind}\n\nThe problem at the frontier, after training on it:\n\n{practised}"


def _claim(claim: Mapping[str, Any], confidence: float) -> str:
    if not claim["models"]:
        return "No rollouts."
    models = table(("model", *count_heads(confidence)), [[row["model"], *count_cells(row)] for row in claim["models"]])
    rows = [
        [row["model"], row["role"], cell(row["problem"]), row["language"], *count_cells(row)]
        for row in claim["problems"]
    ]
    return f"{models}\n\n{table(('model', 'role', 'problem', 'language', *count_heads(confidence)), rows)}"


def _languages(result: Mapping[str, Any]) -> str:
    heads = ("language", *count_heads(result["confidence"]), "tokens in", "tokens out", "s median", "s longest")
    rows, axes = [], []
    for row in result["languages"]:
        cost = [row[key] for key in ("tokens_in", "tokens_out", "seconds_median", "seconds_longest")]
        rows.append(
            [row["language"], *count_cells(row), *map(cell, cost), f"{row['tool_failures']} of {row['tool_calls']}"]
        )
        axes.append([row["language"], *map(cell, row["axes"].values()), cell(row["escapes"]), cell(row["breaches"])])
    names = [name.replace("_", " ") for name in result["languages"][0]["axes"]] if result["languages"] else []
    rates = table((*heads, "failed tool calls"), rows)
    shown = table(("language", *names, "escape attempts", "breaches"), axes)
    return f"## Languages\n\nCanonical prompts only; tokens are means.\n\n{rates}\n\n{shown}"


def _strategies(result: Mapping[str, Any]) -> str:
    keys = ("model", "problem", "language", "strategy")
    rows = [[*(cell(row[key]) for key in keys), *count_cells(row)] for row in result["strategies"]]
    shown = table((*keys, *count_heads(result["confidence"])), rows)
    return f"## Strategies\n\nAt the frontier; prompts differ, so the rows are conditions and no ranking.\n\n{shown}"


def _memorization(result: Mapping[str, Any]) -> str:
    rows = []
    for row in result["memorization"]:
        where = ", ".join(row["rollouts"][:3]) + (" …" if len(row["rollouts"]) > 3 else "")
        rows.append([_WARNINGS[row["warning"]], f"{row['hits']} of {row['n']}", cell(row["qualified"]), where])
    shown = table(("sign", "rollouts", "of them qualified", "where"), rows)
    return f"## Memorization warnings\n\nSigns to read the programs by, found by their wording; no proof.\n\n{shown}"


def _rounds(result: Mapping[str, Any]) -> str:
    keys = ("round", "started", "model", "mode", "origin", "problem", "outcome")
    rows = [[*(cell(row[key]) for key in keys), "; ".join(row["reasons"])] for row in result["rounds"]]
    return f"## Rounds\n\n{table((*keys, 'why'), rows)}"


def _left_out(result: Mapping[str, Any]) -> str:
    counts = result["left_out"]
    return (
        f"Rollouts that no claim counts: {counts['replayed']} replayed, {counts['lost']} lost to the infrastructure, "
        f"{counts['explored']} in explore mode, {counts['trained_on']} beyond the frontier but trained on, "
        f"{counts['transfer']} of the transfer suite, which has a report of its own."
    )
