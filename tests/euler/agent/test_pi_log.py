"""What Pi writes is only half trusted: nothing of it may end the thread that reads it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.euler.agent.pi_log import Heard, Listener, take

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ODD_MESSAGE = st.fixed_dictionaries(
    {"role": st.just("assistant") | JSON},
    optional={
        "usage": st.dictionaries(st.sampled_from(["input", "output", "cacheRead", "cacheWrite"]), JSON) | JSON,
        "content": st.lists(st.fixed_dictionaries({"type": st.just("text") | JSON}, optional={"text": JSON}) | JSON)
        | JSON,
        "stopReason": JSON,
        "errorMessage": JSON,
    },
)


def said(text: str = "It is 45.", **changes: Any) -> dict[str, Any]:
    usage = {"input": 10, "output": 3, "cacheRead": 2, "cacheWrite": 1}
    parts = [{"type": "text", "text": text}, {"type": "toolCall", "id": "c"}, {"type": "text", "text": "!"}]
    message = {"role": "assistant", "usage": usage, "stopReason": "stop", "content": parts, **changes}
    return {"type": "message_end", "message": message}


def listened(folder: Path, content: bytes) -> Heard:
    return Listener(io.BytesIO(content), folder / "pi.jsonl").wait(10)


def line(event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


def test_tokens_add_up_and_the_last_message_is_the_reply() -> None:
    heard = Heard()
    for event in (said("First", stopReason="toolUse"), said(), {"type": "agent_end"}):
        take(heard, event)
    assert heard == Heard("It is 45.!", "stop", "", 26, 6, over=True)


@given(ODD_MESSAGE)
def test_no_message_of_odd_types_raises(message: Any) -> None:
    heard = Heard()
    take(heard, {"type": "message_end", "message": message})
    assert isinstance(heard.reply, str)
    assert isinstance(heard.tokens_in, int)
    assert heard.tokens_in >= 0
    assert heard.tokens_out >= 0


@pytest.mark.parametrize(
    "garbage",
    [b"\n", b"no json\n", b"\xff\xfe\n", b"[]\n", b"[" * 100_000 + b"\n", b'{"type": {}}\n', b'{"type": ["x"]}\n',
     line({"type": "message_end", "message": {"role": "assistant", "usage": {"input": 1e400}, "content": [1]}})],
)  # fmt: skip
def test_the_listener_outlives_garbage(tmp_path: Path, garbage: bytes) -> None:
    heard = listened(tmp_path, garbage + line(said()) + line({"type": "agent_end"}))
    assert (heard.reply, heard.over) == ("It is 45.!", True)


def test_updates_are_not_kept_and_a_torn_end_is_no_end(tmp_path: Path) -> None:
    heard = listened(tmp_path, line({"type": "message_update"}) + line(said()) + b'{"type": "agent_e')
    assert (heard.reply, heard.over) == ("It is 45.!", False)
    assert (tmp_path / "pi.jsonl").read_bytes() == line(said())
