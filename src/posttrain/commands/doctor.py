"""`posttrain doctor`: whether this machine, this project and what they need of others are fit for a run."""

import argparse
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

HELP = "check machine, project, data and service before a run"
DESCRIPTION = __doc__
EXAMPLE = """example:
  posttrain use full && posttrain doctor     before a run that costs money

Every line says ok, warn or FAIL, what was found, and what to do. With engine tinker it asks the service for one
real answer of a few tokens, which costs a small fraction of a cent. Exit code 0 when nothing FAILs."""


def run(_: argparse.Namespace) -> int:
    """Prints one line per check; 0 if none failed, 1 if one did, 130 if interrupted.

    Raises:
        SettingsError: there is no project here.
    """
    from posttrain.doctor.check import THREAD, run_probes
    from posttrain.doctor.secret import secrets_here
    from posttrain.ledger.places import project_root
    from posttrain.terminal import say
    from posttrain.wiki.doctor import probes

    try:
        with _only_our_lines():
            code = 0 if run_probes(probes(project_root()), say, secrets_here()) else 1
    except KeyboardInterrupt:
        print("interrupted; nothing was changed", file=sys.stderr, flush=True)
        code = 130
    if any(thread.name.startswith(THREAD) for thread in threading.enumerate()):
        # A check that hangs would hold up the end of the process.
        sys.stdout.flush()
        os._exit(code)
    return code


@contextmanager
def _only_our_lines() -> Iterator[None]:
    """Keeps libraries silent: what they log is no line of this report, and might hold a key."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
