"""What Pi says of a rollout, one JSON object a line: the reply, tokens, and how its last request ended.

Nothing of it is scored but the final reply; what tools did is told by the host.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_DROPPED = ("message_update", "tool_execution_update")
"""Two thirds of all bytes, and no more than `message_end` says."""
LONGEST_LINE = 32_000_000


@dataclass
class Heard:
    """reply: text of the last assistant message. stop: Pi's reason of it. over: the agent said that it was done."""

    reply: str = ""
    stop: str = ""
    error: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    over: bool = False


class Listener:
    """Reads Pi's stdout in a thread of its own, and keeps what is worth it in a file."""

    def __init__(self, stdout: IO[bytes], log: Path) -> None:
        self.heard = Heard()
        self._stdout, self._log = stdout, log
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> Heard:
        """What was heard until Pi's stdout was closed, or for as long as this."""
        self._thread.join(seconds)
        return self.heard

    def _listen(self) -> None:
        with self._log.open("wb") as kept:
            while line := self._stdout.readline(LONGEST_LINE):
                event = _parsed(line)
                if event is not None and event.get("type") not in _DROPPED:
                    take(self.heard, event)
                    kept.write(line)


def take(heard: Heard, event: Mapping[str, Any]) -> None:
    """Adds one event to what was heard; a field of another type than Pi gives it counts as absent."""
    message = event.get("message")
    if event.get("type") == "agent_end":
        heard.over = True
    elif event.get("type") == "message_end" and isinstance(message, dict) and message.get("role") == "assistant":
        heard.tokens_in += _tokens(message.get("usage"), "input", "cacheRead", "cacheWrite")
        heard.tokens_out += _tokens(message.get("usage"), "output")
        heard.stop, heard.error = _text(message.get("stopReason")), _text(message.get("errorMessage"))
        content = message.get("content")
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        heard.reply = "".join(_text(part.get("text")) for part in parts if part.get("type") == "text")


def _tokens(usage: Any, *keys: str) -> int:
    values = [usage.get(key) for key in keys] if isinstance(usage, dict) else []
    return sum(max(0, value) for value in values if isinstance(value, int))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None
