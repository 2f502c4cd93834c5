"""Running a function in a process that kills itself at a chosen moment: as a power cut would, without warning.

Moments are counted: the start and end of every batch, backward pass, optimizer step and half of a save, and the
start and end of everything that is written to the store.
"""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
# Imported once, so that each process starts in no time.
CONTEXT.set_forkserver_preload(["tests.killing", "posttrain.train.grpo", "posttrain.engine.local.engine", "tests.tiny"])


def killed_at_event(work: Callable[[Path], Any], folder: Path, event: int | None) -> int:
    """Runs `work(folder)` with its cache in `folder` until that moment; -9 if it was killed, 0 if it ended first."""
    folder.mkdir(parents=True, exist_ok=True)
    process = CONTEXT.Process(target=_run, args=(work, folder, event))
    process.start()
    process.join(120)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode


def _run(work: Callable[[Path], Any], folder: Path, event: int | None) -> None:
    from posttrain.engine.local import trainer
    from posttrain.engine.local.sampler import LocalSampler
    from posttrain.ledger.store import SampleStore

    os.environ["POSTTRAIN_CACHE"] = str(folder / "cache")
    events = 0

    def happened() -> None:
        nonlocal events
        events += 1
        if events == event:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            happened()
            result = function(*args, **kwargs)
            happened()
            return result

        return call

    places: list[tuple[Any, str]] = [
        (LocalSampler, "_run"),
        (SampleStore, "flush"),
        (SampleStore, "put_update"),
        (trainer.LocalTrainer, "_forward_backward"),
        (trainer.LocalTrainer, "_optim_step"),
        (trainer, "save_checkpoint"),
    ]
    for owner, name in places:
        setattr(owner, name, watched(getattr(owner, name)))
    try:
        work(folder)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    (folder / "events").write_text(str(events))
