"""`posttrain deps`: dvc.yaml's code deps held against what the stages import."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Adds the subcommand to a parser's `add_subparsers()`."""
    parser = commands.add_parser(
        "deps",
        help="stages whose deps are not what they import",
        description="Compares each stage's code deps in dvc.yaml with what its script imports, directly or not.",
        epilog="example:  posttrain deps --write      after an edit that adds or drops an import",
    )
    parser.add_argument("--write", action="store_true", help="put the missing ones into dvc.yaml and drop the others")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Prints one line per difference; 1 if there is any."""
    from posttrain.pipeline_deps import differences, rewrite

    if chosen.write:
        rewrite(Path("dvc.yaml"))
    found = differences(Path("dvc.yaml"))
    for line in found:
        print(line)
    return 1 if found else 0
