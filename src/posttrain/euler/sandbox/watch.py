"""What the processes below one of ours use together, from /proc: for machines whose kernel does not count it for us."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from posttrain.euler.sandbox.protocol import LimitName

_TICKS = os.sysconf("SC_CLK_TCK")
_CPU = slice(11, 15)
"""User and system time, its own and that of children waited for; counted after the name, which may hold anything."""

_SOCKETS = re.compile(r"sockets: used (\d+)")
_SOCKET_BYTES = 2 * 212_992
"""What one takes in before its writer has to wait, twice, as the kernel's own share comes to as much."""


class Watch:
    """Whether the processes below `root` are over their limits; memory is not looked at if it has none."""

    def __init__(self, root: int, memory_bytes: int | None, cpu_seconds: int) -> None:
        self._root, self._memory_bytes, self._cpu_seconds = root, memory_bytes, cpu_seconds

    def __call__(self) -> LimitName | None:
        """The limit that is passed, if any."""
        processes = list(descendants(self._root))
        # A process that ends is counted in its parent's time from then on, so that none is lost.
        if sum(map(_cpu_seconds, processes)) > self._cpu_seconds:
            return "cpu_seconds"
        if self._memory_bytes is not None:
            limit = self._memory_bytes - _in_sockets(processes[1:])
            # The first count takes shared pages once for each process, the second divides them among these.
            if sum(map(_resident, processes)) > limit and sum(map(_proportional, processes)) > limit:
                return "memory_bytes"
        return None


def descendants(root: int) -> Iterator[int]:
    """A process and all below it; one that loses its parent stays below the first process of its namespace."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            waiting += map(int, _text(f"/proc/{pid}/task/{thread}/children").split())


def _cpu_seconds(pid: int) -> float:
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[_CPU])) / _TICKS


def _in_sockets(processes: list[int]) -> int:
    """The most that sockets of another network namespace than ours can hold, of which no process is charged a byte."""
    for pid in processes:
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                continue
        if used := _SOCKETS.search(_text(f"/proc/{pid}/net/sockstat")):
            return int(used[1]) * _SOCKET_BYTES
    return 0


def _resident(pid: int) -> int:
    return _kilobytes(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:", "VmSwap:"))


def _proportional(pid: int) -> int:
    return _kilobytes(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:", "SwapPss:"))


def _kilobytes(path: str, names: tuple[str, ...]) -> int:
    return sum(int(line.split()[1]) * 1024 for line in _text(path).splitlines() if line.startswith(names))


def _text(path: str) -> str:
    """What a file of /proc says, nothing if the process is gone."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
