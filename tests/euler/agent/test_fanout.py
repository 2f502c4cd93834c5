"""Rounds that are killed, gone on with, sampled side by side, or lost."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from posttrain.errors import BudgetError, InfrastructureError
from posttrain.euler.agent.fanout import logs_of, unfinished
from posttrain.euler.event_log import read_events
from posttrain.euler.events import End, Event, Execution, Failure
from posttrain.euler.proxy.completer import Seat
from posttrain.euler.proxy.wire import Completion, Request
from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.agent.pi import descendants, eventually, need_pi, pis, planned, started_at
from tests.euler.agent.rounds import QUICK, sample, telling
from tests.project import ROOT

PLAN = list(map(planned, range(6)))


def events_of(folder: Path, index: int) -> list[Event]:
    return read_events(logs_of(folder, planned(index)).events)


def assert_told(folder: Path, index: int, mark: str) -> None:
    """A rollout whose program and reply are its own."""
    events = events_of(folder, index)
    runs = [event.stdout for event in events if isinstance(event, Execution)]
    end = events[-1]
    assert isinstance(end, End)
    assert (runs, end.stop, end.reply) == ([f"{mark} {index}\n"], "stop", f"{mark} {index}")


def contents(folder: Path, indices: range) -> list[bytes]:
    return [logs_of(folder, planned(index)).events.read_bytes() for index in indices]


def test_a_killed_round_is_gone_on_with_beside_another_and_leaves_nothing(
    bubblewrap: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_pi()
    folder, temporary = tmp_path / "killed", tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "tests.euler.agent.rounds", str(folder)]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        # Both agents are in the middle of a program when two others have ended.
        assert eventually(lambda: len(unfinished(folder, PLAN)) == 4 and _programs(process.pid) == 2, 60)
        left = descendants(process.pid)
        assert len([*temporary.glob("posttrain-pi-*")]) == 2
    finally:
        process.kill()
        process.wait()
    assert len(left) >= 8  # for each of the two: Pi, the holder, bubblewrap and the program
    assert eventually(lambda: not [pid for pid, started in left if started_at(pid) == started])
    before = contents(folder, range(QUICK))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    beside = threading.Thread(target=sample, args=(tmp_path / "other", bubblewrap, telling("other"), 2))
    beside.start()
    sample(folder, bubblewrap, telling("second"), 6)
    beside.join()
    assert contents(folder, range(QUICK)) == before
    for index in range(6):
        assert_told(folder, index, "first" if index < QUICK else "second")
    for index in range(2):
        assert_told(tmp_path / "other", index, "other")
    assert pis() == []
    assert [*temporary.glob("posttrain-pi-*")] == [], "whoever goes on removes what a killed host has left"
    assert "posttrain" not in Path("/proc/self/mountinfo").read_text().replace(str(ROOT), "")


def _programs(pid: int) -> int:
    """How many of its agents' programs run."""
    found = 0
    for child, _ in descendants(pid):
        try:
            found += Path(f"/proc/{child}/cmdline").read_bytes() == b"python3\0main.py\0"
        except OSError:
            continue
    return found


class Breaking:
    """Answers the first rollout, and raises for any other; after `fatal` nothing more should be asked."""

    model, revision = "breaking", "r"

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._inner = telling("kept")

    async def complete(self, seat: Seat, request: Request) -> Completion:
        self.asked.append(seat.planned.index)
        if seat.planned.index:
            raise BudgetError("the budget is spent")
        return await self._inner.complete(seat, request)


def test_a_spent_budget_ends_the_round_and_keeps_what_is_done(bubblewrap: Sandbox, tmp_path: Path) -> None:
    completer = Breaking()
    with pytest.raises(BudgetError, match="spent"):
        sample(tmp_path, bubblewrap, completer, 6, tries=5)
    # Each once although five tries are allowed, and beside the first that is refused at most one that had begun.
    assert [index for index in sorted(completer.asked) if index] in ([1], [1, 2])
    assert_told(tmp_path, 0, "kept")
    assert isinstance(events_of(tmp_path, 1)[-1], Failure)
    assert unfinished(tmp_path, PLAN) == PLAN[1:]


class Refusing(Breaking):
    """As a server that refuses one conversation, which it may not refuse another time."""

    async def complete(self, seat: Seat, request: Request) -> Completion:
        self.asked.append(seat.planned.index)
        if seat.planned.index:
            raise ZeroDivisionError
        return await self._inner.complete(seat, request)


def test_a_lost_rollout_is_tried_again_and_then_owed(bubblewrap: Sandbox, tmp_path: Path) -> None:
    completer = Refusing()
    with pytest.raises(InfrastructureError, match=r"1 of 2 rollouts were lost, the first .*: the provider failed: 500"):
        sample(tmp_path, bubblewrap, completer, 2, tries=2)
    assert completer.asked.count(1) == 2
    assert unfinished(tmp_path, PLAN[:2]) == PLAN[1:2]


def test_torn_and_failed_rollouts_are_owed(tmp_path: Path) -> None:
    whole = '{"kind":"end","stop":"stop","reply":"","tokens_in":0,"tokens_out":0,"seconds":0.0}\n'
    for index, text in enumerate(
        [whole, whole[:-1], '{"kind":"failure","boundary":"host","what":"x"}\n', "", whole + whole]
    ):
        log = logs_of(tmp_path, planned(index)).events
        log.parent.mkdir(exist_ok=True)
        log.write_text(text)
    assert unfinished(tmp_path, PLAN) == PLAN[1:]
