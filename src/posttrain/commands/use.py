"""`posttrain use`: a profile becomes params.yaml."""

import argparse
from typing import Any


def add(commands: Any) -> None:
    """Adds the subcommand to a parser's `add_subparsers()`."""
    parser = commands.add_parser(
        "use",
        help="put a profile in place as params.yaml",
        description="Puts profiles/PROFILE.yaml in place as params.yaml; your own edits are kept in params.yaml.bak.",
        epilog="example:  posttrain use full",
    )
    parser.add_argument("profile", help="name of a file under profiles/, such as smoke, mini or full")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Prints what was done."""
    from posttrain.ledger.places import project_root
    from posttrain.profiles import use

    print(use(chosen.profile, project_root()))
