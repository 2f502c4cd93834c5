"""What keeps an agent from its end is told apart: the infrastructure's failures are no ends, its own limits are."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import EngineError
from posttrain.euler.agent import rollout
from posttrain.euler.agent.process import Provider
from posttrain.euler.agent.rollout import Assignment, Logs, run_rollout
from posttrain.euler.events import End, Execution, Failure
from posttrain.euler.proxy.completer import Seat
from posttrain.euler.proxy.scripted import Step
from posttrain.euler.proxy.wire import Completion, Message, Request
from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.agent.pi import PROMPT, SYSTEM, Overheard, bash, need_pi, pis, play


class Failing(Overheard):
    """Answers once, and then no more."""

    async def complete(self, seat: Seat, request: Request) -> Completion:
        if seat.turns:
            raise EngineError("the engine is gone")
        return await super().complete(seat, request)


def test_a_provider_that_fails_is_a_failure_and_never_an_end(bubblewrap: Sandbox, tmp_path: Path) -> None:
    played = play(bubblewrap, tmp_path, Failing([bash("echo 1")]))
    run, last = played.events
    assert isinstance(run, Execution)
    assert isinstance(last, Failure)
    assert last.boundary == "provider"
    assert "the engine is gone" in last.what


def test_a_pi_that_is_killed_is_the_hosts_failure(bubblewrap: Sandbox, tmp_path: Path) -> None:
    def kill(messages: Sequence[Message]) -> Step:
        del messages
        [pid] = pis()
        os.kill(pid, signal.SIGKILL)
        return Step("It is 42.")

    played = play(bubblewrap, tmp_path, Overheard([bash("echo 1"), kill]))
    assert isinstance(played.events[-1], Failure)
    assert played.events[-1].boundary == "host"
    assert len(played.events) == 2


def test_turns_and_seconds_that_are_used_up_are_ends(bubblewrap: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "turns").mkdir()
    (tmp_path / "wall").mkdir()
    turns = play(bubblewrap, tmp_path / "turns", Overheard([bash("echo 1")]), turns=2)
    assert [type(event) for event in turns.events] == [Execution, Execution, End]
    last = turns.events[-1]
    assert isinstance(last, End)
    assert (last.stop, last.reply) == ("turns", "")
    started = time.monotonic()
    wall = play(bubblewrap, tmp_path / "wall", Overheard([bash("sleep 60")]), wall=1.0)
    assert time.monotonic() - started < 30
    assert [type(event) for event in wall.events] == [Execution, End]
    last = wall.events[-1]
    assert isinstance(last, End)
    assert last.stop == "wall_time"
    assert pis() == []


def test_a_pi_that_knows_no_such_provider_is_a_failure(bubblewrap: Sandbox, tmp_path: Path) -> None:
    logs = Logs(tmp_path / "raw.jsonl", tmp_path / "pi.jsonl", tmp_path / "stderr.txt")
    task = Assignment(SYSTEM, PROMPT, {}, 3, 30.0)
    (tmp_path / "home").mkdir()
    provider = Provider("nobody", "nothing", "", None, tmp_path / "home")
    [last] = run_rollout(bubblewrap, need_pi(), provider, task, logs)
    assert isinstance(last, Failure)
    assert last.boundary == "host"
    assert "nobody" in last.what


def test_a_pi_that_does_not_start_is_the_hosts_failure(
    bubblewrap: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "node"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(rollout, "_START_SECONDS", 0.2)
    logs = Logs(tmp_path / "raw.jsonl", tmp_path / "pi.jsonl", tmp_path / "stderr.txt")
    pi = replace(need_pi(), node=hanging)
    events = run_rollout(
        bubblewrap, pi, Provider("p", "m", "", {}, None), Assignment(SYSTEM, PROMPT, {}, 3, 30.0), logs
    )
    assert events == [Failure("host", "Pi did not start within 0 s")]
    assert pis() == []
