"""One rollout: a fresh workspace, Pi in front of it, and the events that the host saw, ended in one way or another."""

import contextlib
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posttrain.errors import InfrastructureError
from posttrain.euler.agent.clock import Clock
from posttrain.euler.agent.host import Host, Stopped
from posttrain.euler.agent.install import Pi
from posttrain.euler.agent.pi_log import LONGEST_LINE, Heard, Listener
from posttrain.euler.agent.process import Provider, Running, running
from posttrain.euler.event_log import event_line
from posttrain.euler.events import End, Event, Failure, Stop
from posttrain.euler.sandbox.protocol import RefusedFile, Sandbox
from posttrain.files import write_text

_PROVIDER_SECONDS = 3600.0
"""The longest that one answer of a provider is waited for; those that give up sooner say so to Pi."""
_START_SECONDS = 120.0
"""The longest that Pi may take to start."""
_LAST_WORDS = 20.0
"""Seconds for Pi to finish writing once its host has hung up or it said that it was done."""


class _Lost(InfrastructureError):
    """What failed is neither the agent nor its sandbox."""

    def __init__(self, boundary: Literal["provider", "host"], what: str) -> None:
        super().__init__(what)
        self.boundary = boundary


@dataclass(frozen=True)
class Assignment:
    """What one agent is given. files: put into its workspace. turns, wall_seconds: what it may use."""

    system_prompt: str
    prompt: str
    files: Mapping[str, bytes]
    turns: int
    wall_seconds: float


@dataclass(frozen=True)
class Logs:
    """Where a rollout is written to. events: what scoring reads; the others are for readers."""

    events: Path
    pi: Path
    stderr: Path


def run_rollout(sandbox: Sandbox, pi: Pi, provider: Provider, task: Assignment, logs: Logs) -> list[Event]:
    """Runs an agent to its end and writes its events, whole or not at all; what failed is in the last of them."""
    started = time.monotonic()
    for log in (logs.events, logs.pi, logs.stderr):
        log.parent.mkdir(parents=True, exist_ok=True)
    events: list[Event] = []
    try:
        with sandbox.workspace() as workspace:
            for name, content in task.files.items():
                workspace.write(name, content)
            clock = Clock(task.wall_seconds)
            host = Host(workspace, task.system_prompt, task.turns, clock)
            events = host.events
            with running(pi, provider, task.prompt, logs.stderr) as agent:
                listener = Listener(agent.stdout, logs.pi)
                stopped = serve(agent.host, host, clock)
                heard = _last_words(agent, listener, stopped)
        last: Event = _last(heard, stopped, time.monotonic() - started, logs.stderr)
    except InfrastructureError as error:
        last = Failure(error.boundary if isinstance(error, _Lost) else "sandbox", str(error))
    except RefusedFile as error:
        last = Failure("host", f"the task's files cannot be put into the workspace: {error}")
    events = [*events, last]
    write_text(logs.events, "".join(map(event_line, events)))
    return events


def serve(connection: socket.socket, host: Host, clock: Clock) -> Stop | None:
    """Answers the hook until it hangs up (None) or a limit of the agent's is used up, which is returned."""
    lines = b""
    while True:
        while b"\n" in lines:
            line, lines = lines.split(b"\n", 1)
            request = json.loads(line)
            try:
                answer = host.answer(request)
            except Stopped as stopped:
                return stopped.why
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.settimeout(_LAST_WORDS)
                connection.sendall(json.dumps({"number": request["number"], **answer}).encode() + b"\n")
        if clock.running and clock.left <= 0:
            return "wall_time"
        patience = _PROVIDER_SECONDS if host.turns else _START_SECONDS
        connection.settimeout(max(0.01, clock.left) if clock.running else patience)
        try:
            chunk = connection.recv(1 << 20)
        except TimeoutError:
            if clock.running:
                return "wall_time"
            if not host.turns:
                raise _Lost("host", f"Pi did not start within {patience:.0f} s") from None
            raise _Lost("provider", f"the provider gave no answer within {patience:.0f} s") from None
        except ConnectionResetError:
            return None
        if not chunk:
            return None
        lines += chunk
        if len(lines) > LONGEST_LINE:
            raise _Lost("host", "the hook sent a line without end")


def _last_words(agent: Running, listener: Listener, stopped: Stop | None) -> Heard:
    if stopped is not None:
        agent.process.kill()
    return listener.wait(_LAST_WORDS)


def _last(heard: Heard, stopped: Stop | None, seconds: float, stderr: Path) -> Event:
    """The end that the agent came to, or what else failed; Pi's exit code says nothing of it."""
    if stopped is not None:
        return End(stopped, heard.reply, heard.tokens_in, heard.tokens_out, round(seconds, 3))
    if heard.stop in ("error", "aborted"):
        return Failure("provider", " ".join(heard.error.split())[:500] or "Pi reports an error without words")
    if not heard.over or not heard.stop:
        said = " ".join(stderr.read_text(encoding="utf-8", errors="replace").split())[-500:]
        return Failure("host", f"Pi ended without an answer: {said or 'it said nothing'}")
    stop: Stop = "length" if heard.stop == "length" else "stop"
    return End(stop, heard.reply, heard.tokens_in, heard.tokens_out, round(seconds, 3))
