"""`posttrain sweep`: the experiments of a sweep as one table over seeds, with what is real and what is not shown."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posttrain.stats.bootstrap import Estimate
    from posttrain.wiki.sweep import Configuration, Sweep

HELP = "compare experiments over seeds, with intervals"
DESCRIPTION = """One row per configuration of the experiments that `dvc exp run` made from a commit: the metric's mean
over seeds with its interval, the difference to the baseline, and whether that is real.

A sweep chooses, and choosing is what val is for: a configuration chosen on test has no honest test score left."""
EXAMPLE = """example:
  dvc exp run --queue -S grpo.lr=1e-4,2e-4 -S run.seed=0,1,2 choose_grpo
  dvc queue start && posttrain sweep
  posttrain sweep --metric em --baseline grpo.lr=1e-4 --plot sweep.png"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("--metric", default="f1", help="a number of metrics/grpo.json (default f1)")
    parser.add_argument("--on", choices=["val", "test"], default="val", help="the split (default val)")
    parser.add_argument("--open-test", action="store_true", help="with --on test: the choice was made without it")
    parser.add_argument(
        "--baseline", metavar="KEY=VALUE", help="what rows are held against; else the commit's settings"
    )
    parser.add_argument("--rev", default="HEAD", help="the commit that the experiments started from (default HEAD)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the means with their intervals, as PNG")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--md", action="store_true", help="a Markdown table")
    form.add_argument("--json", action="store_true", help="the same for programs")


def run(chosen: argparse.Namespace) -> None:
    """Prints the table.

    Raises:
        PosttrainError: test was asked for without --open-test, or see `read_experiments` and `sweep`.
    """
    from posttrain.errors import SettingsError

    if chosen.on == "test" and not chosen.open_test:
        raise SettingsError(
            "--on test: a sweep chooses on val, and what was chosen on test is not measured by it any more; leave it "
            "out, or add --open-test once the choice is made"
        )
    made = _made(chosen)
    if chosen.plot:
        from posttrain.report.sweep_plot import draw

        bars = [(row.label, row.mean, row.interval) for row in made.configurations]
        draw(bars, f"{made.metric} on {made.split}, {made.confidence:.0%} interval", chosen.plot)
    print("\n".join(_json(made) if chosen.json else markdown(made) if chosen.md else lines(made)))


def _made(chosen: argparse.Namespace) -> "Sweep":
    from functools import partial

    from posttrain.ledger.places import project_root
    from posttrain.settings import load
    from posttrain.wiki.ablation_settings import AblationSettings
    from posttrain.wiki.sweep import sweep
    from posttrain.wiki.sweep_runs import SPLITS, question_scores, read_experiments

    root, split = project_root(), SPLITS[chosen.on]
    base, experiments = read_experiments(root, chosen.rev, split)
    settings = load("ablation", AblationSettings, root / "params.yaml")
    scores = partial(question_scores, root, split=split, metric=chosen.metric)
    return sweep(base, experiments, scores, settings, chosen.metric, chosen.on, chosen.baseline)


def lines(made: "Sweep") -> list[str]:
    """The table as aligned text, what was left out, and how it was made."""
    cells = [_header(made), *(_cells(row) for row in made.configurations)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return [*table, *_remarks(made)]


def markdown(made: "Sweep") -> list[str]:
    """The table as Markdown, ready to paste."""
    header, *rows = [_header(made), *(_cells(row) for row in made.configurations)]
    table = [header, ["---"] * len(header), *rows]
    return [*("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table), "", *_remarks(made)]


def _json(made: "Sweep") -> list[str]:
    import json
    from dataclasses import asdict

    return [json.dumps(asdict(made), indent=2, default=str)]


def _header(made: "Sweep") -> list[str]:
    interval = f"[{made.confidence * 100:g}% CI]"
    return ["configuration", "seeds", f"{made.metric} {interval}", f"difference {interval}", "p (Holm)", "verdict"]


def _cells(row: "Configuration") -> list[str]:
    p = "–" if row.p_holm is None else "<0.001" if row.p_holm < 0.001 else f"{row.p_holm:.3f}"
    mean = f"{row.mean:.3f}{_span(row.interval, '.3f')}"
    difference = f"{row.difference.mean:+.3f}{_span(row.difference, '+.3f')}" if row.difference else "–"
    return [row.label, ", ".join(map(str, row.seeds)), mean, difference, p, row.verdict]


def _span(estimate: "Estimate | None", form: str) -> str:
    return "" if estimate is None else f" [{estimate.low:{form}}, {estimate.high:{form}}]"


def _remarks(made: "Sweep") -> list[str]:
    said = [f"{made.metric} on {made.split}; intervals: {made.method}"]
    said += [f"note: {note}" for note in made.notes]
    return said + [f"left out: {name}: {why}" for name, why in made.left_out]
