"""Reading from a program without waiting for it, and no more than is kept."""

import contextlib
import os
import signal
import time

import pytest

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import pump as module
from posttrain.euler.sandbox.child import Child, call, start
from posttrain.euler.sandbox.pump import Pumped, Stream, pump

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def pumped(
    script: str, stdin: bytes = b"", wall: float = 10.0, most: int = 1000, patience: int = 10, group: bool = True
) -> Pumped:
    child = start(["sh", "-c", script], ENVIRONMENT)
    streams = (Stream(most, patience), Stream(most, patience))

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.process.pid, signal.SIGKILL)

    return pump(child, stdin, streams, wall, lambda: None, end if group else child.process.kill)


def test_both_streams_are_read_and_input_is_fed() -> None:
    done = pumped("wc -c; echo bad >&2", stdin=b"x" * 300_000)
    assert (done.stdout.text.strip(), done.stderr.text, done.killed_by) == ("300000", "bad\n", None)


def test_output_of_exactly_the_cap_is_not_cut() -> None:
    assert not pumped("printf 12345", most=5).stdout.cut
    done = pumped("printf 123456", most=5)
    assert (done.stdout.text, done.stdout.cut, done.killed_by) == ("12345", True, None)


def test_a_flood_ends_the_program_and_keeps_no_more_than_the_cap() -> None:
    done = pumped("yes", most=1000)
    assert (done.killed_by, len(done.stdout.kept), done.wall_seconds < 5) == ("output_bytes", 1000, True)


def test_without_patience_the_first_byte_too_many_ends_it() -> None:
    assert pumped("printf 123456; sleep 9", most=5, patience=1).killed_by == "output_bytes"


def test_time_ends_a_program_that_says_nothing() -> None:
    done = pumped("exec >&- 2>&-; sleep 60", wall=0.2)
    assert (done.killed_by, 0.2 <= done.wall_seconds < 5) == ("wall_seconds", True)


def test_the_watch_is_asked_and_obeyed() -> None:
    child = start(["sleep", "60"], ENVIRONMENT)
    streams = (Stream(9, 9), Stream(9, 9))
    assert pump(child, b"", streams, 10, lambda: "memory_bytes", child.process.kill).killed_by == "memory_bytes"


def test_a_pipe_that_somebody_still_holds_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LAST_WORDS", 0.2)
    with pytest.raises(InfrastructureError, match="holds its output open"):
        pumped("sleep 1 & exit 0", group=False)


def test_a_mark_is_no_part_of_what_was_said_and_time_begins_with_it() -> None:
    child = start(["sh", "-c", "sleep 0.5; printf ma >&2; sleep 0.1; printf rkabcdefgh >&2; sleep 60"], ENVIRONMENT)
    streams = (Stream(4, 9), Stream(4, 9, mark=b"mark"))

    def end() -> None:
        os.killpg(child.process.pid, signal.SIGKILL)

    done = pump(child, b"", streams, 0.3, lambda: None, end)
    assert (done.stderr.text, done.stderr.cut, done.killed_by) == ("abcd", True, "wall_seconds")
    assert done.wall_seconds < 5


@pytest.mark.parametrize("script", ["echo no such thing >&2", "echo no such thing >&2; sleep 60"])
def test_without_the_mark_nothing_was_started(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(module, "_START_SECONDS", 0.5)
    child = start(["sh", "-c", script], ENVIRONMENT)

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.process.pid, signal.SIGKILL)

    with pytest.raises(InfrastructureError, match="did not start: no such thing"):
        pump(child, b"", (Stream(9, 9), Stream(9, 9, mark=b"mark")), 10, lambda: None, end)


def test_a_missing_command_and_one_that_hangs() -> None:
    with pytest.raises(InfrastructureError, match="no-such-command cannot be started"):
        start(["no-such-command"], ENVIRONMENT)
    with pytest.raises(InfrastructureError, match="no-such-command cannot be started"):
        call(["no-such-command"], ENVIRONMENT, 1)
    started = time.monotonic()
    assert call(["sleep", "60"], ENVIRONMENT, 0.2).returncode == 124
    assert time.monotonic() - started < 5


def test_nobody_waits_for_a_child_that_is_ended() -> None:
    child: Child = start(["sleep", "60"], ENVIRONMENT)
    child.end(5)
    child.end(5)
    assert child.process.returncode == -9
