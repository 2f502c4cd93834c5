"""Starting other programs: with pipes, without our environment, and out of reach of the terminal's Ctrl-C."""

import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from posttrain.errors import InfrastructureError


@dataclass(frozen=True)
class Child:
    """A process of ours and its three pipes."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def close_pipes(self) -> None:
        """Closes what is still open, whether or not anybody reads it."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def end(self, seconds: float) -> None:
        """Ends it if it is not over, and reaps it."""
        self.close_pipes()
        self.process.kill()
        self.process.wait(seconds)


def start(command: Sequence[str], environment: Mapping[str, str], pass_fds: Sequence[int] = ()) -> Child:
    """Starts a command in a session of its own.

    Raises:
        InfrastructureError: the command is missing.
    """
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=pass_fds,
            start_new_session=True,
            umask=0o022,
        )
    except OSError as error:
        raise missing(command, error) from error
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    return Child(process, stdin, stdout, stderr)


def call(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; one that hangs is ended and has failed, with exit code 124.

    Raises:
        InfrastructureError: the command is missing.
    """
    try:
        return subprocess.run(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {seconds:g} s")
    except OSError as error:
        raise missing(command, error) from error


def missing(command: Sequence[str], error: OSError) -> InfrastructureError:
    return InfrastructureError(f"{command[0]} cannot be started: {error.strerror}; `apt install bubblewrap`, or Docker")
