"""`posttrain check`: params.yaml without a run, and what a killed DVC leaves behind."""

import argparse
import os
import sys
from pathlib import Path

HELP = "check params.yaml before anything runs"
DESCRIPTION = """Checks every section of params.yaml: unknown and missing keys, types, ranges, combinations.
Mends what a killed DVC may have left, so that the next `dvc repro` can start."""
EXAMPLE = """example:
  posttrain check && dvc repro"""


def run(_: argparse.Namespace) -> None:
    """Says nothing if all is well.

    Raises:
        SettingsError: a setting is wrong.
        DataError: dvc.lock is torn.
    """
    from posttrain.dvc_files import mend_dvc_files
    from posttrain.wiki.params import check_params

    check_params(Path("params.yaml"))
    if "DVC_ROOT" not in os.environ and (said := mend_dvc_files(Path())):  # within a stage DVC is at work
        print(said, file=sys.stderr)
