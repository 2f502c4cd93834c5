"""`posttrain check`: params.yaml without a run."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Adds the subcommand to a parser's `add_subparsers()`."""
    parser = commands.add_parser(
        "check",
        help="check params.yaml before anything runs",
        description="Checks every section of params.yaml: unknown and missing keys, types, ranges, combinations.",
        epilog="example:  posttrain check && dvc repro",
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Says nothing if all is well."""
    from posttrain.wiki.params import check_params

    check_params(Path("params.yaml"))
