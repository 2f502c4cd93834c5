"""`posttrain plan`: what `dvc repro` would run, why, and what it would cost."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posttrain.wiki.plan import Plan, Planned

HELP = "what dvc repro would run, why, and at what price"
DESCRIPTION = "Follows every change through the pipeline, which `dvc status` and `dvc repro --dry` do not."
EXAMPLE = """example:
  posttrain plan            every stage that would run, with its reason, tokens, USD and time
  posttrain plan --why      all reasons of each stage"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("--why", action="store_true", help="all reasons, not the first alone")


def run(chosen: argparse.Namespace) -> None:
    """Prints the plan.

    Raises:
        PosttrainError: the project, its params or the sample store cannot be read.
    """
    from posttrain.ledger.account import account_here
    from posttrain.ledger.places import project_root, samples_path
    from posttrain.ledger.price import BudgetSettings
    from posttrain.ledger.store import SampleStore
    from posttrain.settings import load
    from posttrain.stale import due_stages
    from posttrain.wiki.plan import plan

    root = project_root()
    params = root / "params.yaml"
    budget = load("budget", BudgetSettings, params)
    with SampleStore(samples_path()) as store:
        made = plan(due_stages(root), params, store)
        spent = store.spend.spent(account_here().project)
    for line in lines(made, chosen.why):
        print(line)
    usd = sum(planned.usd for planned in made.stages)
    print(f"at most {usd:.2f} USD more; {spent:.2f} of budget.usd {budget.usd:g} are spent")
    if usd > budget.usd - spent:
        print(f"that passes the cap: raise budget.usd to {spent + usd:.2f} or more, or lower the sizes")


def lines(made: "Plan", why: bool) -> list[str]:
    """The plan as aligned text."""
    if not made.stages:
        return ["nothing would run: all is up to date"]
    cells = [("stage", "tokens", "USD", "paid", "time", "because"), *(_row(planned, why) for planned in made.stages)]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    found = [
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 5)), row[5]]) for row in cells
    ]
    drawing = [planned.expected for planned in made.stages if planned.expected is not None]
    if any(not expected.measured for expected in drawing):
        found.append("~ from settings and texts: the stage has not run with this model yet")
    if made.warning:
        found.append(f"warning: {made.warning}")
    return found


def _row(planned: "Planned", why: bool) -> tuple[str, str, str, str, str, str]:
    due, expected = planned.due, planned.expected
    reasons = [*due.changes, *(f"after {stage}" for stage in due.upstream)]
    because = ", ".join(reasons) if why or len(reasons) < 2 else f"{reasons[0]} and {len(reasons) - 1} more"
    if planned.receipt:
        because += "; its receipt holds the outputs"
    if expected is None:
        return due.stage, "", "", "", "", because
    about = "" if expected.measured else "~"
    paid = "?" if planned.paid is None else f"{planned.paid:.2f}"
    return (
        due.stage,
        f"{about}{expected.tokens.total:,}",
        f"{about}{expected.usd:.2f}",
        paid,
        f"{about}{duration(expected.seconds)}",
        because,
    )


def duration(seconds: float) -> str:
    """As `3 h 05 min`, `12 min` or `40 s`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
