"""`posttrain deps`: dvc.yaml's code deps held against what the stages import."""

import argparse
from pathlib import Path

HELP = "stages whose deps are not what they import"
DESCRIPTION = "Compares each stage's code deps in dvc.yaml with what its script imports, directly or not."
EXAMPLE = """example:
  posttrain deps --write      after an edit that adds or drops an import"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("--write", action="store_true", help="put the missing ones into dvc.yaml and drop the others")


def run(chosen: argparse.Namespace) -> int:
    """Prints one line per difference; 1 if there is any."""
    from posttrain.pipeline_deps import differences, rewrite

    if chosen.write:
        rewrite(Path("dvc.yaml"))
    found = differences(Path("dvc.yaml"))
    for line in found:
        print(line)
    return 1 if found else 0
