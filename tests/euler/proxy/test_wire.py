"""The wire format, both ways: a request is refused as a whole or understood, whatever it holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.euler.proxy.wire import Call, Completion, Message, Request, parse_request, stream

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PART = st.fixed_dictionaries({"type": st.just("text") | JSON}, optional={"text": JSON}) | JSON
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"]) | JSON},
    optional={
        "content": st.lists(PART, max_size=3) | JSON,
        "tool_calls": st.lists(st.fixed_dictionaries({"id": JSON}) | JSON, max_size=3) | JSON,
    },
)
REQUEST = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE | JSON, max_size=3) | JSON}, optional={"tools": JSON, "max_tokens": JSON}
)


def body(*messages: Any, **others: Any) -> bytes:
    return json.dumps({"messages": messages, **others}).encode()


def test_a_request_of_pis_shape_is_understood() -> None:
    call = {"id": "call_0_0", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "read", "parameters": {}}}
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    request = parse_request(
        body(
            {"role": "developer", "content": "S"},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "42", "tool_call_id": "call_0_0"},
            tools=[tool],
            max_completion_tokens=9,
        )
    )
    said = ("system", "S", ()), ("user", "ab", ()), ("assistant", "", ("call_0_0",)), ("tool", "42", ())
    assert request == Request(tuple(Message(*one) for one in said), (tool,), 9)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a chat completion request"),
        (b"\xff", "not a chat completion request"),
        (b"[" * 100_000, "not a chat completion request"),
        (b"{}", "not a chat completion request"),
        (body(), "it has no messages"),
        (body({"role": "function", "content": "x"}), "'function' are not served"),
        (body({"role": "user", "content": [{"type": "image_url"}]}), "'image_url' is not served"),
        (body({"role": "user", "content": 5}), "not a chat completion request"),
        (body({"role": "user", "content": "x"}, tools={"a": 1}), "not a chat completion request"),
        (body({"role": "assistant", "tool_calls": [{"id": 5}]}), "not a chat completion request"),
    ],
)
def test_anything_else_is_refused_with_the_reason(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_request(content)


@given(st.binary(max_size=50) | (REQUEST | JSON).map(lambda value: json.dumps(value).encode()))
def test_whatever_is_understood_has_the_types_it_says(content: bytes) -> None:
    try:
        request = parse_request(content)
    except DataError:
        return
    assert request.messages
    for message in request.messages:
        message.content.encode()  # no half surrogates
        assert all(isinstance(call, str) for call in message.calls)
    assert all(isinstance(tool, dict) for tool in request.tools)
    assert request.max_tokens is None or type(request.max_tokens) is int


def events(completion: Completion) -> list[Any]:
    lines = [*stream(completion, "m")]
    assert lines[-1] == b"data: [DONE]\n\n"
    assert all(line.startswith(b"data: ") and line.endswith(b"\n\n") and line.count(b"\n") == 2 for line in lines)
    return [json.loads(line[6:]) for line in lines[:-1]]


@given(
    st.text(),
    st.lists(st.tuples(st.text(), st.dictionaries(st.text(), JSON, max_size=2)), max_size=3),
    st.sampled_from(["stop", "length"]),
)
def test_a_reply_comes_out_of_the_stream_as_it_went_in(text: str, calls: list[Any], stop: Any) -> None:
    made = tuple(Call(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
    found = events(Completion(text, made, stop, 7, 5))
    choices = [choice for event in found for choice in event["choices"]]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == text
    sent = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
    assert [(call["index"], call["id"], call["function"]["name"]) for call in sent] == [
        (place, call.id, call.name) for place, call in enumerate(made)
    ]
    assert [call["function"]["arguments"] for call in sent] == [json.dumps(call.arguments) for call in made]
    finish = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    assert finish == ["length" if stop == "length" else "tool_calls" if made else "stop"]
    assert found[-1]["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
