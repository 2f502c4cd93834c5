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

    wrong = 0
    for pipeline in (Path("dvc.yaml"), *sorted(Path().glob("*/dvc.yaml"))):
        if chosen.write:
            rewrite(pipeline)
        for line in differences(pipeline):
            wrong = 1
            print(line if pipeline.parent == Path() else f"{pipeline}: {line}")
    return wrong
