"""One process per stage: killing `dvc repro` leaves its child at work, and the next one must not start a second."""

import asyncio
import fcntl
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from posttrain.errors import BusyError, StoreError

_POLL = 1.0


@asynccontextmanager
async def awaited_lock(state_dir: Path, name: str, why: str) -> AsyncIterator[None]:
    """As `stage_lock`, but waits for another holder, saying `why` once.

    Raises:
        StoreError: the lock file cannot be made.
    """
    with ExitStack() as held:
        told = False
        while True:
            try:
                held.enter_context(stage_lock(state_dir, name))
                break
            except BusyError:
                if not told:
                    print(why, file=sys.stderr, flush=True)
                told = True
                await asyncio.sleep(_POLL)
        yield


@contextmanager
def stage_lock(state_dir: Path, name: str) -> Iterator[None]:
    """Holds `<state_dir>/<name>.lock` during the block; the kernel lets go of it when the process dies.

    A child made by fork shares the lock and keeps it after its parent; one made by exec does not.

    Raises:
        BusyError: another holder, also in this process, has it.
        StoreError: the lock file cannot be made.
    """
    path = state_dir / f"{name.replace('/', '-')}.lock"
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        # Not truncated: it may hold the PID of the process that has the lock.
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror}; free some space or fix its permissions and run again"
        ) from error
    try:
        _take(handle, path, name)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        # The file stays: removing it would let a third process lock a new one while a second waits on the old.
        os.close(handle)


def _take(handle: int, path: Path, name: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.pread(handle, 20, 0).decode()
        if not pid:  # taken, and the PID not written yet
            raise BusyError(f"{name} has just been started by another process; wait for it and run again") from error
        raise BusyError(
            f"{name} is already running as process {pid}; wait for it, or stop it with `kill {pid}`, and run again"
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot lock {path}: {error.strerror}; put the project on a file system that has locks"
        ) from error
