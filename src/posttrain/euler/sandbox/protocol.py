"""What every sandbox does: a workspace of its own for each task, in which programs that a model wrote are run.

A failure of the sandbox itself is an `InfrastructureError`. It is never a `Result`, so it cannot be scored as one.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from posttrain.errors import DataError

Kind = Literal["bubblewrap", "docker"]
LimitName = Literal["wall_seconds", "cpu_seconds", "memory_bytes", "output_bytes"]
"""The limits that end a program. The others make a call of the program's fail: no more processes, a full disk."""
KILLED = 137
"""The exit code that a shell shows for a program ended by SIGKILL."""


class RefusedFile(DataError):
    """The program, or the model, named or left something that is not a plain file inside the workspace."""


@dataclass(frozen=True)
class Limits:
    """What a workspace and each program in it may use."""

    wall_seconds: float
    cpu_seconds: int
    memory_bytes: int
    """Of all processes together; the workspace, which is kept in memory, comes on top."""
    pids: int
    """Processes and threads together."""
    output_bytes: int
    """Kept of each of stdout and stderr; the rest is thrown away, and a flood ends the program."""
    file_bytes: int
    """The longest single file."""
    workspace_bytes: int
    """Of /workspace, /tmp and /dev/shm together."""
    workspace_inodes: int
    """Files and folders in them."""


class Status(StrEnum):
    """How a program ended. Each of these is the program's own doing."""

    FINISHED = "Finished"
    """By itself, with exit code 0."""
    ERROR = "Error"
    """By itself, with another exit code or by a signal."""
    TIME_LIMIT = "TimeLimitExceeded"
    """The wall time was over."""
    KILLED = "Killed"
    """Another limit was passed: `killed_by` says which."""


@dataclass(frozen=True)
class Receipt:
    """What held the program, as it was found at work and not as it was asked for."""

    kind: Kind
    enforced_by: dict[str, str]
    """The fields of `Limits`, `network` and `syscalls`, each with the means."""
    image: str | None
    """Of a container: what it was started from, by digest."""
    container: str | None
    """Of a container: its id."""


@dataclass(frozen=True)
class Result:
    """What a program did."""

    status: Status
    exit_code: int
    """As a shell shows it: 128 and the number of a signal that ended the program."""
    killed_by: LimitName | None
    stdout: str
    stderr: str
    """Both as UTF-8, with U+FFFD for what is not."""
    stdout_cut: bool
    stderr_cut: bool
    wall_seconds: float
    workspace_lost: bool
    """The program could only be ended together with its files; the workspace is empty now."""
    receipt: Receipt


def wall_limit(limits: Limits, wanted: float | None) -> float:
    """Seconds that one program gets: what is wanted for it, but never more than the limit."""
    return limits.wall_seconds if wanted is None else min(limits.wall_seconds, wanted)


class Workspace(Protocol):
    """A folder with a quota, and programs run in it. Nothing in it outlives it, and two calls never overlap."""

    def run(self, argv: Sequence[str], stdin: bytes = b"", wall_seconds: float | None = None) -> Result:
        """Runs a program; `wall_seconds` may shorten the limit. Whatever it started is dead when this returns.

        Raises:
            InfrastructureError: the program could not be started or not be stopped, through no fault of its own.
        """

    def write(self, path: str, content: bytes) -> None:
        """Writes a file, and the folders above it.

        Raises:
            RefusedFile: the path leads outside, or the workspace has no room.
            InfrastructureError: the sandbox failed.
        """

    def read(self, path: str) -> bytes:
        """Reads a plain file; links are not followed, and pipes, sockets and devices not opened.

        Raises:
            RefusedFile: there is none, or it is not a plain file, or it is longer than the limit.
            InfrastructureError: the sandbox failed.
        """

    def files(self) -> "Files":
        """Reads everything.

        Raises:
            RefusedFile: it is together longer than the workspace can hold, which holes in files make possible.
            InfrastructureError: the sandbox failed.
        """


@dataclass(frozen=True)
class Files:
    """What a workspace holds."""

    contents: dict[str, bytes]
    refused: dict[str, str]
    """What is no plain file, and what it is instead."""


class Sandbox(Protocol):
    """A way to hold programs, which works on this machine."""

    @property
    def kind(self) -> Kind:
        """Which one."""

    def workspace(self) -> AbstractContextManager[Workspace]:
        """Opens an empty workspace.

        Raises:
            InfrastructureError: it cannot be opened.
        """
