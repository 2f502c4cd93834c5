"""`posttrain check`: params.yaml without a run."""

import argparse
from pathlib import Path

HELP = "check params.yaml before anything runs"
DESCRIPTION = "Checks every section of params.yaml: unknown and missing keys, types, ranges, combinations."
EXAMPLE = """example:
  posttrain check && dvc repro"""


def run(_: argparse.Namespace) -> None:
    """Says nothing if all is well."""
    from posttrain.wiki.params import check_params

    check_params(Path("params.yaml"))
