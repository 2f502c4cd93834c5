"""The real Pi with a script in the model's place; a test is skipped with the reason where something is missing."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from posttrain.errors import InfrastructureError
from posttrain.euler.agent.install import Pi, find_pi
from posttrain.euler.agent.process import loopback_provider
from posttrain.euler.agent.rollout import Assignment, Logs, run_rollout
from posttrain.euler.events import Event
from posttrain.euler.planned import CANONICAL, Planned
from posttrain.euler.proxy.completer import Completer, Seat
from posttrain.euler.proxy.scripted import Script, ScriptedCompleter, Step
from posttrain.euler.proxy.server import serving
from posttrain.euler.proxy.wire import Completion, Message, Request
from posttrain.euler.sandbox.protocol import Sandbox
from tests.project import ROOT

SYSTEM, PROMPT = "You are an agent.", "Add 40 and 2."


def planned(index: int = 0) -> Planned:
    return Planned(1, "python", CANONICAL, "current", index)


def need_pi() -> Pi:
    """Pi, or the test is skipped with the reason."""
    try:
        return find_pi(ROOT / "euler" / "pi")
    except InfrastructureError as error:
        pytest.skip(f"pi: {error}")


def calling(tool: str, **arguments: Any) -> Step:
    return Step("", ((tool, arguments),))


def bash(command: str, **others: Any) -> Step:
    return calling("bash", command=command, **others)


def write(path: str, content: str) -> Step:
    return calling("write", path=path, content=content)


@dataclass
class Overheard:
    """Follows a script, and keeps what it was asked."""

    script: Script
    model: str = "script"
    revision: str = "r"
    requests: list[Request] = field(default_factory=list)

    async def complete(self, seat: Seat, request: Request) -> Completion:
        self.requests.append(request)
        return await ScriptedCompleter(lambda _: self.script, self.model, self.revision).complete(seat, request)


@dataclass(frozen=True)
class Played:
    """What is left of a rollout. log: Pi's own events. results: its tool results, as the model saw them."""

    events: list[Event]
    log: list[dict[str, Any]]
    logs: Logs

    @property
    def results(self) -> list[dict[str, Any]]:
        messages = [row["message"] for row in self.log if row["type"] == "message_end"]
        return [message for message in messages if message["role"] == "toolResult"]


def texts(message: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message["content"])


def play(
    sandbox: Sandbox, folder: Path, completer: Completer, *, turns: int = 30, wall: float = 60.0,
    files: Mapping[str, bytes] | None = None,
) -> Played:  # fmt: skip
    """One rollout, start to end."""
    logs = Logs(folder / "raw.jsonl", folder / "pi.jsonl", folder / "stderr.txt")
    task = Assignment(SYSTEM, PROMPT, files or {}, turns, wall)
    with serving(nullcontext(completer)) as proxy, proxy.seat(planned(), 0) as url:
        events = run_rollout(sandbox, need_pi(), loopback_provider(url, 100_000, 4096), task, logs)
    log = [json.loads(line) for line in logs.pi.read_text().splitlines()]
    return Played(events, log, logs)


def below(pid: int) -> list[int]:
    """Processes that this one started and that are not over."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, above, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(above) == pid and state != "Z":
                found.append(int(folder.name))
    return found


def environment(pid: int) -> dict[str, str]:
    """Of a process, as it was started; empty for one that is over."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/environ").read_bytes().decode().rstrip("\0").split("\0")
        return dict(line.split("=", 1) for line in lines if line)  # type: ignore[misc]
    return {}


def pis() -> list[int]:
    """Every Pi that this process started; Pi changes its command line, so it is known by its environment."""
    return [pid for pid in below(os.getpid()) if "POSTTRAIN_HOST_FD" in environment(pid)]


def descendants(pid: int) -> set[tuple[int, str]]:
    """All processes below one, each with the time at which it was started."""
    found: set[tuple[int, str]] = set()
    for child in below(pid):
        if (started := started_at(child)) is not None:
            found |= {(child, started)} | descendants(child)
    return found


def started_at(pid: int) -> str | None:
    """In ticks since boot; None for one that is over, also if nobody has asked how it ended."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else rest[18]


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it does within that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def said(messages: Sequence[Message]) -> str:
    """The last tool result."""
    return messages[-1].content.strip()
