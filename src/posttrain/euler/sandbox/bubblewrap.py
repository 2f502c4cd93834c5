"""Programs in namespaces of their own, made by bubblewrap: the kind that needs no service and no image.

One run is one sandbox around a workspace that stays. Whatever the program leaves behind dies with its process
namespace, whose first process is ended from outside: a program can take that process over, as it is the same user's.
"""

import contextlib
import json
import os
import secrets
import select
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import cgroup, command, transfer
from posttrain.euler.sandbox.child import Child, start
from posttrain.euler.sandbox.holder import PROGRAMS, SECONDS, held
from posttrain.euler.sandbox.judge import result
from posttrain.euler.sandbox.protocol import KILLED, Files, Kind, Limits, Receipt, Result, wall_limit
from posttrain.euler.sandbox.pump import FLOOD, TICK, Pumped, Stream, pump
from posttrain.euler.sandbox.seccomp import bpf
from posttrain.euler.sandbox.watch import Watch


@dataclass(frozen=True)
class Bubblewrap:
    """Sandboxes whose programs come from `root`/usr."""

    root: Path
    limits: Limits
    parent: Path | None
    """The control group below which each program gets its own."""

    @property
    def kind(self) -> Kind:
        return "bubblewrap"

    @contextmanager
    def workspace(self) -> Iterator["BubblewrapWorkspace"]:
        with held(self.limits) as holder:
            yield BubblewrapWorkspace(self, holder)

    def receipt(self) -> Receipt:
        counted = self.parent is not None
        watched = f"a look at all processes every {TICK * 1000:.0f} ms"
        enforced_by = {
            "wall_seconds": "SIGKILL to the process namespace",
            "cpu_seconds": f"RLIMIT_CPU for each process, {watched}",
            "memory_bytes": "control group" if counted else f"RLIMIT_DATA and RLIMIT_AS for each process, {watched}",
            "pids": "RLIMIT_NPROC in a user namespace" + (", control group" if counted else ""),
            "output_bytes": "reading no more",
            "file_bytes": "RLIMIT_FSIZE",
            "workspace_bytes": "size of a tmpfs",
            "workspace_inodes": "nr_inodes of a tmpfs",
            "network": "network namespace, seccomp",
            "syscalls": "seccomp",
        }
        return Receipt("bubblewrap", enforced_by, image=None, container=None)


class BubblewrapWorkspace:
    """One of them: see `Workspace`."""

    def __init__(self, sandbox: Bubblewrap, holder: int) -> None:
        self._sandbox, self._holder, self._lock = sandbox, holder, threading.Lock()

    def run(self, argv: Sequence[str], stdin: bytes = b"", wall_seconds: float | None = None) -> Result:
        limits = self._sandbox.limits
        wall = wall_limit(limits, wall_seconds)
        streams = (Stream(limits.output_bytes, FLOOD), Stream(limits.output_bytes, FLOOD))
        code, pumped, out_of_memory = self._execute(argv, stdin, streams, wall)
        return result(pumped, code, out_of_memory, self._sandbox.receipt())

    def write(self, path: str, content: bytes) -> None:
        transfer.write(self._trusted, path, content)

    def read(self, path: str) -> bytes:
        return transfer.read(self._trusted, path, self._sandbox.limits)

    def files(self) -> Files:
        return transfer.read_all(self._trusted, self._sandbox.limits)

    def _trusted(self, argv: Sequence[str], stdin: bytes, output_bytes: int) -> tuple[int, Pumped]:
        streams = (Stream(output_bytes, 1), Stream(self._sandbox.limits.output_bytes, 1))
        code, pumped, _ = self._execute(argv, stdin, streams, transfer.SECONDS)
        if pumped.killed_by == "output_bytes":
            return KILLED, pumped
        if code is None:
            raise InfrastructureError(f"{argv[0]} in the sandbox did not end; is the machine overloaded?")
        return code, pumped

    def _execute(
        self, argv: Sequence[str], stdin: bytes, streams: tuple[Stream, Stream], wall_seconds: float
    ) -> tuple[int | None, Pumped, bool]:
        """The program's exit code, if there is one, what it said, and whether the kernel ended it for its memory."""
        sandbox, mark = self._sandbox, secrets.token_hex(8)
        streams[1].mark = mark.encode()
        counted = sandbox.parent is not None
        inside = command.program(argv, sandbox.limits, counted, mark)
        with self._lock, ExitStack() as stack:
            folder = stack.enter_context(cgroup.group(sandbox.parent, sandbox.limits)) if sandbox.parent else None
            run = stack.enter_context(_started(sandbox.root, self._holder, folder, inside))
            watch = Watch(
                run.child.process.pid, None if counted else sandbox.limits.memory_bytes, sandbox.limits.cpu_seconds
            )
            pumped = pump(run.child, stdin, streams, wall_seconds, watch, run.end)
            return run.exit_code(), pumped, folder is not None and cgroup.out_of_memory(folder)


class _Run:
    """One start of bubblewrap: its monitor, which is our child, and the first process of the sandbox, which is not."""

    def __init__(self, child: Child, status: int) -> None:
        self.child, self._status, self._first = child, status, -1
        self._said = b""

    def wait_for_first(self) -> None:
        """Until it exists; bubblewrap tells before it lets it go on, so that its number cannot be another's yet."""
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._said:
            readable, _, _ = select.select([self._status], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise InfrastructureError("bubblewrap did not start; is the machine overloaded?")
            if not (chunk := os.read(self._status, 4096)):
                return
            self._said += chunk
        with contextlib.suppress(ProcessLookupError):  # dead and gone, and with it all others
            self._first = os.pidfd_open(_field(self._said, "child-pid"))

    def end(self) -> None:
        """Ends everything, and returns when it is dead: the first process is gone last."""
        self.child.process.kill()
        if self._first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            dead, _, _ = select.select([self._first], [], [], SECONDS)
            if not dead:
                raise InfrastructureError("processes of a sandbox could not be ended; see `ps -ef`")

    def close(self) -> None:
        try:
            self.end()
            self.child.end(SECONDS)
        finally:
            for descriptor in (self._status, self._first):
                if descriptor >= 0:
                    os.close(descriptor)

    def exit_code(self) -> int | None:
        """What bubblewrap reported, when it is over; nothing if the sandbox ended before the program did."""
        while chunk := os.read(self._status, 4096):
            self._said += chunk
        code = _field(self._said, "exit-code")
        return None if code is None else int(code)


@contextmanager
def _started(root: Path, holder: int, folder: Path | None, inside: Sequence[str]) -> Iterator[_Run]:
    with ExitStack() as stack:
        seccomp = _memory_file(stack, bpf())
        args = _memory_file(stack, b"".join(os.fsencode(one) + b"\0" for one in command.options(root, seccomp)))
        status, status_end = os.pipe()
        try:
            outer = command.outer(inside, holder, folder, args, status_end)
            child = start(outer, PROGRAMS, pass_fds=(seccomp, args, status_end))
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(status_end)
        run = _Run(child, status)
        stack.callback(run.close)
        run.wait_for_first()
        yield run


def _memory_file(stack: ExitStack, content: bytes) -> int:
    descriptor = os.memfd_create("posttrain", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _field(said: bytes, name: str) -> Any:
    """A field of the JSON documents that bubblewrap writes, one a line."""
    for line in said.splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            if name in (document := json.loads(line)):
                return document[name]
    return None
