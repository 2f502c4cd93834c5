"""A policy that follows a script: it makes the whole path from Pi to the gate testable without a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from posttrain.euler.planned import Planned
from posttrain.euler.proxy.completer import Seat
from posttrain.euler.proxy.wire import Call, Completion, Message, Request


@dataclass(frozen=True)
class Step:
    """One reply: text, and the tools that it calls with their arguments."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


Script = Sequence[Step | Callable[[Sequence[Message]], Step]]
"""The replies in order; one that is a function makes its reply from the conversation. The last is given again."""


@dataclass(frozen=True)
class ScriptedCompleter:
    """script: what the agent of a rollout does. Its tokens are bytes of UTF-8, and say nothing of a model's."""

    script: Callable[[Planned], Script]
    model: str
    revision: str

    async def complete(self, seat: Seat, request: Request) -> Completion:
        """The next reply of the script."""
        steps = self.script(seat.planned)
        step = steps[min(seat.turns, len(steps) - 1)]
        if not isinstance(step, Step):
            step = step(request.messages)
        calls = tuple(
            Call(f"call_{seat.turns}_{place}", name, arguments) for place, (name, arguments) in enumerate(step.calls)
        )
        asked = sum(len(message.content.encode()) for message in request.messages)
        said = len(step.text.encode()) + sum(len(repr(arguments)) for _, arguments in step.calls)
        return Completion(step.text, calls, "stop", asked, said)
