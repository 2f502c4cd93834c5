import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.chat.tool_syntax import Reply, ToolCall, ToolSyntax, parse_reply

HERMES, XML = ToolSyntax.HERMES, ToolSyntax.QWEN_XML
KINDS: dict[str, Any] = {
    "path": {"type": "string"},
    "title": {"type": ["string", "null"]},
    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "count": {"type": "integer"},
    "flag": {"type": "boolean"},
    "edits": {"type": "array"},
    "any": {},
}
TOOLS = [
    {"type": "function", "function": {"name": "edit", "parameters": {"type": "object", "properties": KINDS}}},
    {"type": "function", "function": {"name": "ls"}},
]
PIECES = [
    "<tool_call>", "</tool_call>", "<tool_call>\n<function=edit>\n", "<parameter=path>", "\n</parameter>\n",
    "</function>", "<function=", "<parameter=", "<think>", "</think>", '{"name": "edit", "arguments": ', "{}", "}", "[",
    "]", '"', "\\", '\\"', "\n", " ", "\ud800", "NaN", "1e999", "9" * 5000, "[" * 3000, '{"a":' * 3000,
]  # fmt: skip
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=10)), max_size=20).map("".join)
plain = st.text(st.characters(codec="utf-8", exclude_characters="<"), max_size=30)
# Whatever is no tag that ends a value: such a one is ambiguous in XML.
markup = st.lists(
    st.one_of(
        st.text(max_size=8), st.sampled_from(["</parameter>x", "<tool_call>", "</tool_call>", "<function=a>", "\n"])
    ),
    max_size=6,
).map("".join)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | markup,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
json_calls = st.builds(ToolCall, st.text(min_size=1), st.dictionaries(st.text(), values, max_size=4))
xml_calls = st.builds(
    ToolCall,
    st.just("edit"),
    st.fixed_dictionaries(
        {},
        optional={
            "path": markup, "title": markup, "note": markup, "count": st.integers(), "flag": st.none() | st.booleans(),
            "edits": st.lists(values, max_size=3), "any": numbers,
        },
    ),
)  # fmt: skip


def hermes(call: ToolCall) -> str:
    return f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"


def xml(call: ToolCall) -> str:
    """As Qwen's templates write it: structures as JSON, all else as Python prints it."""
    lines = [f"<tool_call>\n<function={call.name}>\n"]
    for key, value in call.arguments.items():
        shown = json.dumps(value) if isinstance(value, list | dict) else str(value)
        lines.append(f"<parameter={key}>\n{shown}\n</parameter>\n")
    return "".join([*lines, "</function>\n</tool_call>"])


@given(before=plain, after=plain, calls=st.lists(json_calls, max_size=3))
@settings(max_examples=300, deadline=None)
def test_hermes_calls_are_read_back(before: str, after: str, calls: list[ToolCall]) -> None:
    text = "".join([before, *map(hermes, calls), after])
    assert parse_reply(text, HERMES, TOOLS) == Reply((before + after).strip(), tuple(calls))
    listed = f"<tool_call>{json.dumps([vars(call) for call in calls])}</tool_call>"
    assert parse_reply(before + listed, HERMES, []).calls == tuple(calls)


@given(before=plain, after=plain, calls=st.lists(xml_calls, max_size=3))
@settings(max_examples=300, deadline=None)
def test_xml_calls_are_read_back(before: str, after: str, calls: list[ToolCall]) -> None:
    text = "".join([before, *map(xml, calls), after])
    assert parse_reply(text, XML, TOOLS) == Reply((before + after).strip(), tuple(calls))


@pytest.mark.parametrize("syntax", ToolSyntax)
@given(text=hostile)
@settings(max_examples=400, deadline=None)
def test_no_text_breaks_the_reader(syntax: ToolSyntax, text: str) -> None:
    reply = parse_reply(text, syntax, TOOLS)
    assert reply.text == reply.text.strip()
    for call in reply.calls:
        json.dumps(call.arguments, allow_nan=False)
    if not reply.calls and "<think>" not in text:
        assert reply.text == text.strip()


@pytest.mark.parametrize("syntax", ToolSyntax)
@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>", "<tool_call>{", '<tool_call>["', '<tool_call>[\\"', '<tool_call>["x","', "[", '"', "\\", " ",
        "<think>",
        "<tool_call>\n<function=edit>\n<parameter=path>\n", "</parameter>\n</function>", "<parameter=",
        "<tool_call>\n<function=edit>\n<parameter=path>\nx\n</parameter>\n<parameter=count>\n",
        '<tool_call>{"name": "a", "arguments": {}}', hermes(ToolCall("a", {})), xml(ToolCall("a", {"b": 1})),
    ],
)  # fmt: skip
def test_a_megabyte_is_read_in_a_moment(syntax: ToolSyntax, unit: str) -> None:
    for start in ("", "<tool_call>", "<tool_call>\n<function=edit>\n<parameter=path>\n"):
        for end in (
            "",
            "</parameter></function><tool_call>",
            "</parameter>\n<parameter=path>",
            '"]</tool_call>',
            "</parameter></function></tool_call>",
        ):
            text = start + unit * (1_000_000 // len(unit)) + end
            began = time.process_time()
            parse_reply(text, syntax, TOOLS)
            assert time.process_time() - began < 2  # tenths of a second; quadratic would be minutes


LS = ToolCall("ls", {})


def edit(**arguments: Any) -> list[ToolCall]:
    return [ToolCall("edit", arguments)]


TAGS = "</tool_call><tool_call>{"
WHOLE = [
    (HERMES, '{"name": "ls", "arguments": {}}', [LS]),
    (HERMES, ' \n [{"name": "ls", "arguments": {}}, {"name": "edit", "arguments": {"any": 1}}]\n', [LS, *edit(any=1)]),
    (HERMES, '{"name": "edit", "arguments": "{\\"any\\": [1]}"}', edit(any=[1])),
    (HERMES, '{"name": "ls"}', [LS]),
    (HERMES, '{"name": "edit", "arguments": {"any": 1, "any": 2}}', edit(any=2)),
    (HERMES, '{"name": "edit", "arguments": {"any": "x\ny"}}', edit(any="x\ny")),
    (HERMES, f'{{"name": "edit", "arguments": {{"any": "{TAGS}"}}}}', edit(any=TAGS)),
    (HERMES, '{"name": "unheard of", "arguments": {}}', [ToolCall("unheard of", {})]),
    (XML, "\n<function=ls>\n</function>\n", [LS]),
    (XML, "<function=ls></function>", [LS]),
    (XML, "\n<function=unheard>\n<parameter=a>\n[1]\n</parameter>\n</function>\n", [ToolCall("unheard", {"a": [1]})]),
    (XML, "\n<function=edit>\n<parameter=path>\n1\n</parameter>\n</function>\n", edit(path="1")),
    (XML, "<function=edit><parameter=path>a</parameter></function>", edit(path="a")),
    (XML, "<function=edit><parameter=path>\n\n a\n\n\n</parameter></function>", edit(path="\n a\n\n")),
    (XML, "<function=edit><parameter=path>\n\n</parameter></function>", edit(path="")),
    (XML, "<function=edit><parameter=count>\nfew\n</parameter></function>", edit(count="few")),
    (XML, "<function=edit><parameter=flag>\nTrue\n</parameter></function>", edit(flag=True)),
    (XML, "<function=edit><parameter=any>1</parameter><parameter=any>2</parameter></function>", edit(any=2)),
    (XML, "<function=edit><parameter=path>\na</parameter>b\n</parameter></function>", edit(path="a</parameter>b")),
]


@pytest.mark.parametrize(("syntax", "body", "calls"), WHOLE)
def test_whole_calls(syntax: ToolSyntax, body: str, calls: list[ToolCall]) -> None:
    text = f"<tool_call>{body}</tool_call>"
    assert parse_reply(f"\nSo:\n{text}\n", syntax, TOOLS) == Reply("So:", tuple(calls))
    assert parse_reply(f"So:\n<tool_call>{body}", syntax, TOOLS) == Reply("So:", tuple(calls))  # the end of the reply
    again = parse_reply(f"<tool_call>{body}<tool_call>{body}</tool_call>", syntax, TOOLS)
    assert again == Reply(f"<tool_call>{body}".strip(), tuple(calls))  # no closing tag and not the end
    assert parse_reply(f"<think>\n{text}\n</think>\n\nHi{text}", syntax, TOOLS) == Reply("Hi", tuple(calls))


BROKEN = [
    (HERMES, '{"name": "ls", "arguments": {}'),
    (HERMES, '{"name": "ls", "arguments": {}} and'),
    (HERMES, '{"name": "ls", "arguments": []}'),
    (HERMES, '{"name": "ls", "arguments": "ls"}'),
    (HERMES, '{"name": "ls", "arguments": null}'),
    (HERMES, '{"name": "ls", "arguments": {"a": NaN}}'),
    (HERMES, '{"name": "ls", "arguments": {"a": -Infinity}}'),
    (HERMES, '{"name": "ls", "arguments": {"a": 1e999}}'),
    (HERMES, '{"name": "ls", "arguments": {"a": %s}}' % ("[" * 200 + "]" * 200)),
    (HERMES, '{"name": "ls", "arguments": {"a": %s}}' % ("[" * 9000 + "]" * 9000)),
    (HERMES, '{"name": "ls", "arguments": {"a": %s}}' % ("9" * 9000)),
    (HERMES, '{"name": "", "arguments": {}}'),
    (HERMES, '{"name": 1, "arguments": {}}'),
    (HERMES, '[{"name": "ls", "arguments": {}}, 1]'),
    (HERMES, "[]"),
    (HERMES, '"ls"'),
    (HERMES, ""),
    (HERMES, "\n<function=ls>\n</function>\n"),
    (XML, '{"name": "ls", "arguments": {}}'),
    (XML, "<function=ls>"),
    (XML, "<function=>\n</function>"),
    (XML, "<function=ls>\nls\n</function>"),
    (XML, "<function=edit><parameter=path>a</function>"),
    (XML, "<function=edit><parameter=path>a</parameter>"),
    (XML, "<function=edit><parameter=>a</parameter></function>"),
]


@pytest.mark.parametrize(("syntax", "body"), BROKEN)
def test_broken_calls_stay_text(syntax: ToolSyntax, body: str) -> None:
    text = f"<tool_call>{body}</tool_call>"
    assert parse_reply(f" {text}\n", syntax, TOOLS) == Reply(text, ())
    whole = (hermes if syntax is HERMES else xml)(LS)
    assert parse_reply(f"{text} or\n{whole}", syntax, TOOLS) == Reply(f"{text} or", (LS,))


@pytest.mark.parametrize("syntax", ToolSyntax)
def test_only_a_whole_think_block_at_the_start_is_removed(syntax: ToolSyntax) -> None:
    for text, left in (
        ("\n<think>\nhm\n</think>\n\nyes", "yes"),
        ("<think></think>", ""),
        ("<think>hm", "<think>hm"),
        ("so <think>hm</think>", "so <think>hm</think>"),
        ("hm</think>yes", "hm</think>yes"),
    ):
        assert parse_reply(text, syntax, []) == Reply(left, ())
