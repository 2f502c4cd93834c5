"""The host's side of one agent's tools: does what they ask for in the sandbox, and writes down what it saw.

The hook in Pi asks; see `euler/pi/hook.ts`. A request is a JSON object with `operation` and `call`, the id of the tool
call that it belongs to.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from posttrain.euler.agent.clock import Clock
from posttrain.euler.agent.output import shown
from posttrain.euler.audit import path_escape
from posttrain.euler.events import Escape, Event, Execution, Inspection, Mutation, Stop
from posttrain.euler.paths import relative_file
from posttrain.euler.sandbox.protocol import RefusedFile, Status, Workspace
from posttrain.euler.shell import plain_words

PLACE = "/workspace/"
"""What Pi puts before a relative path."""
_KEPT_CONTENT = 200_000
"""Characters of a program that are kept in its event."""
_LONGEST_COMMAND = 100_000
"""Bytes: Linux cuts an argument at 128 KiB, and what the model wrote must not look like a sandbox that failed."""
Answer = dict[str, Any]


class Stopped(Exception):
    """The agent has used up a limit of its own, and is to be ended."""

    def __init__(self, why: Stop) -> None:
        super().__init__(why)
        self.why: Stop = why


class Refused(Exception):
    """A request that the agent is told was refused."""


@dataclass
class Call:
    """One tool call. path: as the model gave it, "" for bash. event: the number of what was seen, if anything was."""

    tool: Literal["read", "write", "edit", "bash"]
    path: str
    event: int | None = None


class Host:
    """Answers one agent. `events` grows as things happen; the end is added by whoever runs the agent."""

    def __init__(self, workspace: Workspace, system_prompt: str, turns: int, clock: Clock) -> None:
        self.events: list[Event] = []
        self.turns = 0
        self._workspace, self._system_prompt, self._most_turns, self._clock = workspace, system_prompt, turns, clock
        self._calls: dict[str, Call] = {}
        self._operations: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
            "system_prompt": lambda _: {"text": self._system_prompt},
            "turn": self._turn,
            "turn_over": self._turn_over,
            "call": self._call,
            "result": self._result,
            "access": self._access,
            "read": self._read,
            "write": self._write,
            "run": self._run,
        }

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """What the hook is told; an `error` goes on to the model.

        Raises:
            Stopped: a limit of the agent's is used up.
            InfrastructureError: the sandbox failed.
        """
        if self._clock.left <= 0:
            raise Stopped("wall_time")
        try:
            return self._operations[request["operation"]](request)
        except (Refused, RefusedFile) as error:
            return {"error": str(error)}

    def _turn(self, _: Mapping[str, Any]) -> Answer:
        if self.turns >= self._most_turns:
            raise Stopped("turns")
        self.turns += 1
        self._clock.pause()
        return {}

    def _turn_over(self, _: Mapping[str, Any]) -> Answer:
        self._clock.resume()
        return {}

    def _call(self, request: Mapping[str, Any]) -> Answer:
        given = request["input"]
        call = self._calls[request["call"]] = Call(request["tool"], "")
        if call.tool == "bash":
            return {}
        call.path = _text(given.get("path", ""))
        if relative_file(call.path) is not None:
            return {}
        escape = path_escape(call.path)
        if escape is not None:
            call.event = self._saw(Escape(escape.rule, call.path))
        else:
            self._failed(call)
        return {"refused": f"{call.path!r} is refused: give a path below the workspace, relative to it and without .."}

    def _result(self, request: Mapping[str, Any]) -> Answer:
        """The call is over: what the host saw of it, for Pi's own log."""
        call = self._calls[request["call"]]
        if call.event is None and call.tool != "bash":
            self._failed(call)
        if call.event is None:
            return {"host": None}
        event = self.events[call.event]
        seen = {key: value for key, value in asdict(event).items() if key not in ("content", "stdout")}
        return {"host": {"event": call.event, "kind": type(event).__name__.lower(), **seen}}

    def _access(self, request: Mapping[str, Any]) -> Answer:
        self._content(request)
        return {}

    def _read(self, request: Mapping[str, Any]) -> Answer:
        call, content = self._calls[request["call"]], self._content(request)
        if call.tool == "read" and call.event is None:
            call.event = self._saw(Inspection(call.path, ok=True))
        return {"content": base64.b64encode(content).decode()}

    def _write(self, request: Mapping[str, Any]) -> Answer:
        call, path = self._calls[request["call"]], self._place(request)
        text = _text(request["content"])
        self._workspace.write(path, text.encode())
        kept = text if len(text) <= _KEPT_CONTENT else None
        digest = hashlib.sha256(text.encode()).hexdigest()
        tool: Literal["write", "edit"] = "edit" if call.tool == "edit" else "write"
        call.event = self._saw(Mutation(tool, call.path, digest, kept))
        return {}

    def _run(self, request: Mapping[str, Any]) -> Answer:
        call, command = self._calls[request["call"]], _text(request["command"])
        words = plain_words(command)
        argv = ("bash", "-c", command) if words is None else words
        fault = _unstartable(command)
        if fault:
            call.event = self._saw(Execution(command, argv, None, None, "", False, 0.0))
            raise Refused(fault)
        digest = self._digest(words[1]) if words is not None and len(words) > 1 else None
        wanted = request["timeout"]
        seconds = self._clock.left if not wanted or wanted <= 0 else min(float(wanted), self._clock.left)
        done = self._workspace.run(argv, wall_seconds=seconds)
        call.event = self._saw(
            Execution(command, argv, done.exit_code, digest, done.stdout, done.stdout_cut, round(done.wall_seconds, 3))
        )
        if done.workspace_lost:
            raise Stopped("wall_time")
        timed_out = round(done.wall_seconds) or 1 if done.status is Status.TIME_LIMIT else 0
        output = shown(done.stdout, done.stderr, done.stdout_cut or done.stderr_cut)
        if done.killed_by is not None and not timed_out:
            output += f"\n[ended: it passed the limit on {done.killed_by}]"
        return {"output": output, "exit_code": done.exit_code, "timed_out": timed_out}

    def _digest(self, path: str) -> str | None:
        """Of the file that a command names, as it lies there now."""
        if relative_file(path) is None:
            return None
        try:
            return hashlib.sha256(self._workspace.read(path)).hexdigest()
        except RefusedFile:
            return None

    def _content(self, request: Mapping[str, Any]) -> bytes:
        return self._workspace.read(self._place(request))

    def _place(self, request: Mapping[str, Any]) -> str:
        """The file that an operation means, which must be the one that the model named."""
        call, path = self._calls[request["call"]], _text(request["path"])
        wanted = relative_file(call.path)
        if wanted is None or path != PLACE + wanted:
            raise Refused(f"{call.path!r} is refused: it can be taken for another file; give it a simpler name")
        return wanted

    def _failed(self, call: Call) -> None:
        if call.tool == "read":
            call.event = self._saw(Inspection(call.path, ok=False))
        else:
            call.event = self._saw(Mutation("edit" if call.tool == "edit" else "write", call.path, None, None))

    def _saw(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1


def _unstartable(command: str) -> str:
    """Why the system could start no such command, or nothing."""
    if "\0" in command:
        return "a command cannot hold a zero byte"
    if len(command.encode()) > _LONGEST_COMMAND:
        return f"the command is too long: write a file instead, or less than {_LONGEST_COMMAND:,} bytes"
    return ""


def _text(value: Any) -> str:
    """As text that UTF-8 can hold; JSON can carry half of a surrogate pair."""
    return str(value).encode("utf-8", "replace").decode()
