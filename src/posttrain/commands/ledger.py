"""`posttrain ledger`: what was paid, by stage and experiment."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posttrain.ledger.spend import Booked

HELP = "what this project has paid, by experiment and stage"
DESCRIPTION = "Adds up every request and training step that this project's folder has paid for."
EXAMPLE = """example:
  posttrain ledger             a table: requests, tokens, USD, what the cache took off, the first estimate
  posttrain ledger --json      the same for programs"""
HEADER = ("experiment", "stage", "requests", "prefill", "cached", "sampled", "trained", "USD", "cache off", "estimate")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")


def run(chosen: argparse.Namespace) -> None:
    """Prints the table.

    Raises:
        PosttrainError: there is no project here, or the sample store cannot be read.
    """
    from posttrain.ledger.account import account_here
    from posttrain.ledger.places import project_root, samples_path
    from posttrain.ledger.price import BudgetSettings
    from posttrain.ledger.store import SampleStore
    from posttrain.settings import load

    budget = load("budget", BudgetSettings, project_root() / "params.yaml")
    with SampleStore(samples_path()) as store:
        booked = store.spend.booked(account_here().project)
    if chosen.json:
        print(json.dumps([asdict(one) for one in booked], indent=2))
        return
    for line in lines(booked):
        print(line)
    usd, discount = (sum(getattr(one.spending, name) for one in booked) for name in ("usd", "discount"))
    print(f"{usd:.4f} of budget.usd {budget.usd:g} spent; less {discount:.4f} if the service discounts cached prompts")


def lines(booked: list["Booked"]) -> list[str]:
    """The rows as aligned text, USD as the upper bound that pays for every prompt token in full."""
    if not booked:
        return ["nothing has been drawn or trained yet"]
    cells = [HEADER, *(_row(one) for one in booked)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADER))]
    return [
        "  ".join(cell.ljust(widths[i]) if i < 2 else cell.rjust(widths[i]) for i, cell in enumerate(row))
        for row in cells
    ]


def _row(one: "Booked") -> tuple[str, ...]:
    spending, tokens = one.spending, one.spending.tokens
    counts = (spending.requests, tokens.prefill, tokens.cached, tokens.sampled, tokens.trained)
    estimate = "" if one.estimate is None else f"{one.estimate:.4f}"
    return (
        one.experiment or "workspace",
        one.stage,
        *(f"{count:,}" for count in counts),
        f"{spending.usd:.4f}",
        f"{spending.discount:.4f}",
        estimate,
    )
