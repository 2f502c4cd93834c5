"""The part of OpenAI's chat completions that Pi speaks: requests to plain values, replies to a stream of events."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from posttrain.errors import DataError

T = TypeVar("T")
Row = Mapping[str, Any]
Role = Literal["system", "user", "assistant", "tool"]
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


@dataclass(frozen=True)
class Message:
    """role: system, user, assistant or tool. calls: ids of an assistant's tool calls."""

    role: Role
    content: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """What an agent asks. tools: as OpenAI writes them. max_tokens: None if it does not say."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...]
    max_tokens: int | None


@dataclass(frozen=True)
class Call:
    """A tool call of a reply. id: unique within the rollout. arguments: a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Completion:
    """A reply. Tokens are those of the prompt, and those that were sampled."""

    text: str
    calls: tuple[Call, ...]
    stop: Literal["stop", "length"]
    tokens_in: int
    tokens_out: int


def parse_request(body: bytes) -> Request:
    """The request in a body.

    Raises:
        DataError: it is none, or holds what is not served, such as pictures.
    """
    try:
        row = json.loads(body)
        messages = tuple(_message(message) for message in row["messages"])
        tools = tuple(_typed(dict, tool) for tool in row.get("tools") or ())
        most = row.get("max_tokens", row.get("max_completion_tokens"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"not a chat completion request: {error!r}") from error
    if not messages:
        raise DataError("not a chat completion request: it has no messages")
    return Request(messages, tools, most if type(most) is int else None)


def _message(row: Row) -> Message:
    role = _ROLES.get(row["role"])
    if role is None:
        raise DataError(f"messages of role {row['role']!r} are not served")
    content = row.get("content") or ""
    if isinstance(content, list):
        if other := [part.get("type") for part in content if part.get("type") != "text"]:
            raise DataError(f"content of type {other[0]!r} is not served, only text")
        content = "".join(part["text"] for part in content)
    text = _typed(str, content).encode("utf-8", "replace").decode()  # JSON can carry half of a surrogate pair
    return Message(role, text, tuple(_typed(str, call["id"]) for call in row.get("tool_calls") or ()))


def _typed(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.80} is no {kind.__name__}")
    return value


def stream(completion: Completion, model: str) -> Iterator[bytes]:
    """The reply as server-sent events, in the order in which OpenAI sends them."""
    calls = [
        {"index": place, "id": call.id, "type": "function", "function": _function(call)}
        for place, call in enumerate(completion.calls)
    ]
    finish = "length" if completion.stop == "length" else "tool_calls" if calls else "stop"
    yield _event(model, delta={"role": "assistant", "content": completion.text})
    if calls:
        yield _event(model, delta={"tool_calls": calls})
    yield _event(model, delta={}, finish_reason=finish)
    total = completion.tokens_in + completion.tokens_out
    usage = {"prompt_tokens": completion.tokens_in, "completion_tokens": completion.tokens_out, "total_tokens": total}
    yield _line(_chunk(model) | {"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _function(call: Call) -> dict[str, str]:
    return {"name": call.name, "arguments": json.dumps(call.arguments)}


def _event(model: str, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return _line(_chunk(model) | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def _chunk(model: str) -> dict[str, Any]:
    return {"id": "reply", "object": "chat.completion.chunk", "created": int(time.time()), "model": model}


def _line(row: Row) -> bytes:
    return f"data: {json.dumps(row)}\n\n".encode()
