"""Containers whose owner ended without removing them: found by their label, which says who that was."""

import os
from pathlib import Path

from posttrain.euler.sandbox.engine import Engine

_SECONDS = 30.0
_STARTED_AT = 19
"""Of the fields of /proc/PID/stat after the name."""


def owner() -> str:
    """This process, told apart from all others there ever were on this machine: boot, process namespace, id, start."""
    return f"{_boot()}/{_namespace()}/{os.getpid()}/{_started_at(os.getpid())}"


def is_left_over(label: str) -> bool:
    """Whether the process that a label names is over. One that cannot be seen from here counts as alive."""
    boot, *rest = label.split("/")
    if len(rest) != 3 or not rest[1].isdecimal():
        return False
    namespace, pid, started_at = rest
    return boot != _boot() or (namespace == _namespace() and _started_at(int(pid)) != started_at)


def clean(engine: Engine) -> list[str]:
    """Removes the containers that are left over, and returns their ids.

    Raises:
        InfrastructureError: there is no such engine.
    """
    found = engine.call(engine.labelled(), _SECONDS).stdout.split()
    left = [one for one in found if is_left_over(engine.call(engine.owner(one), _SECONDS).stdout.strip())]
    if left:
        engine.call(engine.remove(*left), _SECONDS)
    return left


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)


def _started_at(pid: int) -> str:
    """In clock ticks since boot; empty for a process that is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[_STARTED_AT]
    except OSError:
        return ""
