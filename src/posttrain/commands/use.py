"""`posttrain use`: a profile becomes params.yaml."""

import argparse

HELP = "put a profile in place as params.yaml"
DESCRIPTION = "Puts profiles/PROFILE.yaml in place as params.yaml; your own edits are kept in params.yaml.bak."
EXAMPLE = """example:
  posttrain use full"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("profile", help="name of a file under profiles/, such as smoke, mini or full")


def run(chosen: argparse.Namespace) -> None:
    """Prints what was done."""
    from posttrain.ledger.places import project_root
    from posttrain.profiles import use

    print(use(chosen.profile, project_root()))
