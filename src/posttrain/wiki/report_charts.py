"""The charts of the recipe's report."""

from collections.abc import Mapping, Sequence
from typing import Any

from posttrain.report.charts import Chart, curves, intervals, stacked_bars
from posttrain.train.alarms import alarms
from posttrain.wiki.ablation import ARMS
from posttrain.wiki.labels import FailureLabel

Row = Mapping[str, float]
GRPO = (
    ("reward", "GRPO: mean reward of a step", ("reward",), True),
    ("skipped", "GRPO: share of groups skipped, all rewards equal", ("skipped_groups",), True),
    ("searches", "GRPO: searches an episode", ("searches",), False),
    ("answer-length", "GRPO: words of an answer", ("answer_length",), False),
    ("tokens", "GRPO: tokens an episode", ("tokens",), False),
    ("ends", "GRPO: share answered, and out of searches", ("answered", "budget_hit"), True),
    ("gap", "GRPO: mean logprob gap, sampler against trainer", ("logprob_gap_mean",), False),
    ("gap-tail", "GRPO: share of tokens with a ratio outside 0.9 to 1.1", ("logprob_gap_tail",), True),
    ("spend", "GRPO: USD spent so far", ("usd",), False),
)
"""Name, title, columns of metrics/curves/grpo.csv, and whether they are shares."""
FLOOR = "closed_book"
"""The arm without a search."""
LOSSES = {"coldstart": "Cold start", "sft": "SFT"}
"""Titles of the curves under metrics/curves that hold a loss."""
ALARMS = {
    "reward_flat": "reward",
    "skipped_groups": "skipped",
    "searches_falling": "searches",
    "budget_hit": "ends",
    "tokens_growing": "tokens",
    "answer_length_growing": "answer-length",
    "logprob_gap": "gap-tail",
}
"""The chart on which an alarm is marked."""


def summary_charts(ablation: Mapping[str, Any]) -> list[Chart]:
    """The arms with their intervals, and their paired differences to the base model."""
    arms, deltas = ablation["arms"], ablation["deltas"]
    interval = f"{ablation['confidence'] * 100:g}% interval"
    return [
        intervals(
            "arms",
            f"F1 on test, {interval}",
            [(title, arms[arm]["f1"], arms[arm]["f1_ci"]) for arm, title in ARMS.items()],
        ),
        intervals(
            "deltas",
            f"F1 minus Base's, paired, {interval}",
            [(title, deltas[arm]["delta"], deltas[arm]["ci"]) for arm, title in ARMS.items() if arm in deltas],
            zero=True,
        ),
    ]


def training_charts(
    val: Sequence[tuple[str, float, Sequence[float]]], losses: Mapping[str, Sequence[Row]], grpo: Sequence[Row]
) -> list[Chart]:
    """F1 on val by checkpoint, the losses of supervised training, and GRPO with its alarms."""
    marks: dict[str, list[tuple[float, str]]] = {}
    for alarm in alarms(grpo):
        marks.setdefault(ALARMS[alarm.name], []).append((alarm.step, alarm.message))
    charts = [intervals("val", "F1 on val by checkpoint, 95% interval", val, joined=True)]
    for name, rows in losses.items():
        charts.append(curves(f"loss-{name}", f"{LOSSES[name]}: loss", {"loss": _points(rows, "loss")}))
    for name, title, columns, share in GRPO:
        series = {column.replace("_", " "): _points(grpo, column) for column in columns}
        charts.append(curves(name, title, series, share=share, marks=marks.get(name, ())))
    return charts


def failure_charts(measured: Mapping[str, Mapping[str, Any]], index: Mapping[str, Any]) -> list[Chart]:
    """Retrieval recall and failure labels.

    Args:
        measured: by arm, the metrics of its test run.
        index: metrics/index.json.
    """
    recalls = [
        (float(name.removeprefix("recall@")), value) for name, value in index.items() if name.startswith("recall@")
    ]
    searched = {arm: numbers["retrieval_recall"] for arm, numbers in measured.items() if arm != FLOOR}
    seen = [(ARMS[arm], recall, (recall, recall)) for arm, recall in searched.items() if recall is not None]
    bars = {
        ARMS[arm]: {**numbers["labels"], "solved": numbers["n"] - sum(numbers["labels"].values())}
        for arm, numbers in measured.items()
    }
    return [
        curves(
            "recall",
            f"Gold paragraphs that the raw question finds, by k (val, n = {index['n']})",
            {"recall": recalls},
            unit="k",
            share=True,
        ),
        intervals(
            "retrieved",
            "Gold paragraphs that an episode saw (test)",
            seen,
        ),
        stacked_bars("labels", "How the episodes of each arm ended (test)", bars, ["solved", *FailureLabel]),
    ]


def _points(rows: Sequence[Row], column: str) -> list[tuple[float, float]]:
    return [(row["step"], row[column]) for row in rows if column in row]
