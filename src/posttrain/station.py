"""How every station runs: settings checked before anything is spent, one holder at a time, errors in one line.

Every stage script imports this module before any other of the package, because of the line below its imports.
"""

import asyncio
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn

from posttrain.errors import PosttrainError, system_failure
from posttrain.ledger.lock import stage_lock
from posttrain.ledger.places import state_dir

# OpenMP reads this once, when torch is loaded. By default its waiting threads spin for milliseconds, which on a busy
# machine made a training pass 9 times dearer in CPU time (benchmarks/bench_threads.py); not to spin at all loses the
# second core on an idle one.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def run(
    name: str, work: Callable[[], Coroutine[Any, Any, None] | None], params: str = "posttrain.wiki.params"
) -> NoReturn:
    """Runs a station's work, awaiting it if it is a coroutine, and exits: 0 done, 1 refused or failed, 130 interrupted.

    params: the module whose `check_params` knows all sections of the recipe's params.yaml.

    Under DVC the lock carries the stage's name, so `eval_sft@1` and `eval_sft@2` do not shut each other out, and the
    experiment's, so that several run side by side.
    """
    stage = os.environ.get("DVC_STAGE", name)
    started = time.monotonic()
    if signal.getsignal(signal.SIGINT) is _interrupted_at_start:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _check_settings(params)
        with stage_lock(state_dir(), "-".join(filter(None, (stage, os.environ.get("DVC_EXP_NAME"))))):
            outcome = work()
            if outcome is not None:
                asyncio.run(outcome)
    except KeyboardInterrupt:
        _stop(130, f"{stage}: interrupted; what was finished is kept, run `dvc repro` again to go on")
    except PosttrainError as error:
        _stop(1, f"{stage}: {error}")
    except OSError as error:
        _stop(1, f"{stage}: {system_failure(error)}")
    print(f"{stage}: {time.monotonic() - started:.1f} s", file=sys.stderr)
    sys.exit(0)


def _check_settings(params: str) -> None:
    """Checks all of params.yaml, also sections that this station does not declare.

    Imported by its name: an import statement would make every station depend on every settings module.
    """
    try:
        importlib.import_module(params).check_params(Path("params.yaml"))
    except PosttrainError as error:  # names the file, and is no fault of this station's
        _stop(1, str(error))


def _stop(code: int, message: str) -> NoReturn:
    print(f"error: {message}" if code == 1 else message, file=sys.stderr, flush=True)
    # Not sys.exit: a sampling batch in a thread would be waited for.
    sys.stdout.flush()
    os._exit(code)


def _interrupted_at_start(*_: object) -> None:
    _stop(130, "interrupted before anything was begun")


# Loading torch takes seconds, in which Ctrl-C finds no `run` yet, and an exception would abort its C++ with a dump.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupted_at_start)
