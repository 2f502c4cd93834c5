"""A host in front of a real workspace, asked as the hook in Pi asks it."""

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from posttrain.euler.agent.clock import Clock
from posttrain.euler.agent.host import PLACE, Answer, Host
from posttrain.euler.sandbox.protocol import Sandbox, Workspace

TURNS = 3


class Asking:
    """Does whole tool calls as Pi would: announce it, do it, ask for what was seen."""

    def __init__(self, workspace: Workspace, seconds: float, turns: int = TURNS) -> None:
        self.workspace, self.clock = workspace, Clock(seconds)
        self.clock.resume()
        self.host = Host(workspace, "the system prompt", turns, self.clock)

    def ask(self, operation: str, **values: Any) -> Answer:
        return self.host.answer({"number": 1, "operation": operation, **values})

    def begin(self, tool: str, **given: Any) -> str:
        """Announces a call that is let through."""
        call = secrets.token_hex(4)
        assert self.ask("call", call=call, tool=tool, input=given) == {}
        return call

    def write(self, path: str, content: str) -> Answer:
        """The answer to a write, then what was seen of it under `host`."""
        call = self.begin("write", path=path, content=content)
        done = self.ask("write", call=call, path=PLACE + path, content=content)
        return {**done, **self.ask("result", call=call)}

    def read(self, path: str) -> Answer:
        call = self.begin("read", path=path)
        done = self.ask("access", call=call, path=PLACE + path) or self.ask("read", call=call, path=PLACE + path)
        return {**done, **self.ask("result", call=call)}

    def bash(self, command: str, timeout: float | None = None) -> Answer:
        call = self.begin("bash", command=command)
        done = self.ask("run", call=call, command=command, timeout=timeout)
        return {**done, **self.ask("result", call=call)}

    def refused(self, tool: str, path: str) -> Mapping[str, Any]:
        """A call that is not let through: what Pi tells the model, and what was seen."""
        answer = self.ask("call", call=path, tool=tool, input={"path": path})
        assert "is refused" in answer["refused"]
        return {**answer, **self.ask("result", call=path)}


@contextmanager
def asking(sandbox: Sandbox, seconds: float = 60.0, turns: int = TURNS) -> Iterator[Asking]:
    with sandbox.workspace() as workspace:
        yield Asking(workspace, seconds, turns)


def sha(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
