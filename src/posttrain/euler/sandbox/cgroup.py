"""Control groups (version 2), where this user may make one: the kernel then counts memory and processes itself."""

import contextlib
import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.protocol import Limits

_NEEDED = {"memory", "pids"}
_numbers = itertools.count()
_TRIES, _PAUSE = 50, 0.02


def find_parent(mounts: Path = Path("/proc/self/mounts"), own: Path = Path("/proc/self/cgroup")) -> Path | None:
    """The nearest group, from ours upward, below which one can be made that counts memory and processes.

    Nothing about existing groups is changed: only those are taken that count already for the groups below them.
    """
    top = next((Path(line.split()[1]) for line in _lines(mounts) if line.split()[2] == "cgroup2"), None)
    ours = next((line[3:].strip("/") for line in _lines(own) if line.startswith("0::")), None)
    if top is None or ours is None:
        return None
    here = top / ours
    for parent in (here, *here.parents):
        if parent != top and top not in parent.parents:
            break
        if set(" ".join(_lines(parent / "cgroup.subtree_control")).split()) >= _NEEDED and _can_join(parent):
            return parent
    return None


@contextmanager
def group(parent: Path, limits: Limits) -> Iterator[Path]:
    """A group of its own for one program, removed afterwards.

    Raises:
        InfrastructureError: it cannot be made.
    """
    folder = _new(parent)
    try:
        folder.mkdir()
        (folder / "memory.max").write_text(str(limits.memory_bytes + limits.workspace_bytes))
        (folder / "pids.max").write_text(str(limits.pids + 2))  # bubblewrap's own two
        # One process over the limit ends all: half a program is of no use. Not every kernel can swap, or has groups.
        for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            with contextlib.suppress(OSError):
                (folder / name).write_text(value)
    except OSError as error:
        _remove(folder)
        raise InfrastructureError(f"the control group {folder} cannot be used: {error}") from error
    try:
        yield folder
    finally:
        _remove(folder)


def out_of_memory(folder: Path) -> bool:
    """Whether the kernel ended something in the group because it had no memory left."""
    counts = dict(line.split() for line in _lines(folder / "memory.events"))
    return int(counts.get("oom_kill", 0)) > 0


def _can_join(parent: Path) -> bool:
    folder = _new(parent)
    try:
        folder.mkdir()
        command = ["sh", "-c", 'echo 0 > "$0/cgroup.procs"', str(folder)]
        done = subprocess.run(command, capture_output=True, timeout=_TRIES * _PAUSE, check=False)
        return done.returncode == 0 and (folder / "memory.max").exists()
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        _remove(folder)


def _new(parent: Path) -> Path:
    return parent / f"posttrain-{os.getpid()}-{next(_numbers)}"


def _remove(folder: Path) -> None:
    """The kernel lets go of a group a moment after its last process is gone."""
    for _ in range(_TRIES):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(_PAUSE)
        else:
            return


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
