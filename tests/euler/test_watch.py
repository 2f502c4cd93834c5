"""What processes use, counted from /proc, on this test's own children."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from posttrain.euler.sandbox.watch import Watch, descendants

MIB = 2**20


@contextmanager
def family(source: str) -> Iterator[int]:
    """A shell, and Python under it that says when it is ready."""
    command = ["sh", "-c", 'read x; "$0" -c "$1"; :', sys.executable, source]
    shell = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert shell.stdin is not None
    assert shell.stdout is not None
    try:
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        assert shell.stdout.readline() == b"ready\n"
        yield shell.pid
    finally:
        for pid in reversed(list(descendants(shell.pid))):
            os.kill(pid, 9)
        shell.wait()
        shell.stdin.close()
        shell.stdout.close()


HOLDS = "import os, time\nx = b'x' * (40 << 20)\n{}\nprint('ready', flush=True)\ntime.sleep(60)"


def test_memory_of_all_below_is_added() -> None:
    with family(HOLDS.format("")) as pid:
        assert len(list(descendants(pid))) == 2
        assert Watch(pid, 30 * MIB, 100)() == "memory_bytes"
        assert Watch(pid, 200 * MIB, 100)() is None
        assert Watch(pid, None, 100)() is None


def test_memory_that_processes_share_is_counted_once() -> None:
    with family(HOLDS.format("pids = [os.fork() for _ in range(3)]\nif 0 in pids: time.sleep(60)")) as pid:
        time.sleep(0.2)
        assert len(list(descendants(pid))) >= 5
        assert Watch(pid, 120 * MIB, 100)() is None  # eight times 40 MiB, if every process were asked alone


def test_time_of_children_that_are_over_stays_counted() -> None:
    burn = "import os, time\nif os.fork() == 0:\n    while time.process_time() < 0.3: pass\n    os._exit(0)\nos.wait()"
    with family(f"{burn}\nprint('ready', flush=True)\ntime.sleep(60)") as pid:
        assert Watch(pid, None, 0)() == "cpu_seconds"
        assert Watch(pid, None, 10)() is None


def test_a_process_that_is_gone_uses_nothing() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert Watch(child.pid, 1, 0)() is None
