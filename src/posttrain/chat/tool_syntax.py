"""The tool calls in a reply: two ways to write them, and a reader of each that no text can hang or break.

A reply is hostile text. Whatever isn't a whole call stays text, and the time is linear in the length of the reply:
regexes are possessive, and no stretch of text is read again for every `<tool_call>` that stands in it.
"""

import json
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

THINKING = re.compile(r"\s*+<think>.*?</think>", re.DOTALL)
OPEN = re.compile(r"<tool_call>\s*+")
# At most JSON, whose strings alone may hold `<` or a backslash; then the closing tag.
JSON = re.compile(r'((?:[^"<\\]++|"(?:[^"\\]++|\\.)*+")*+)(?:</tool_call>|\Z)', re.DOTALL)
FUNCTION = re.compile(r"<function=([^<>\n]++)>\s*+")
FUNCTION_END = re.compile(r"</function>\s*+(?:</tool_call>|\Z)")
PARAMETER = re.compile(r"<parameter=([^<>\n]++)>")
# A closing tag belongs to the value unless the next parameter or the end of the call follows it. The second group
# tells a whole call from one that isn't closed before the next begins.
PARAMETER_END = re.compile(rf"</parameter>\s*+(?={PARAMETER.pattern}|</function>\s*+(?:(</tool_call>|\Z)|<tool_call>))")
# Qwen's templates print true, false and null as Python does, so models may write them like that.
PYTHON_WORDS = {"True": True, "False": False, "None": None}
MAX_DEPTH = 100


class ToolSyntax(StrEnum):
    """How a model writes a call, always between `<tool_call>` tags."""

    HERMES = "hermes"
    """A JSON object with `name` and `arguments`, or a list of such objects."""
    QWEN_XML = "qwen_xml"
    """`<function=NAME>` around one `<parameter=KEY>` for each argument, its value on lines of its own."""


@dataclass(frozen=True)
class ToolCall:
    """One call as the model wrote it: neither name nor arguments are checked against the tools."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """A reply taken apart.

    Attributes:
        text: what stands outside of calls and of a think block at the start, stripped; holds what is no whole call.
        calls: in the order in which they were written.
    """

    text: str
    calls: tuple[ToolCall, ...]


Reader = Callable[[int], tuple[list[ToolCall], int] | None]
"""From behind a `<tool_call>`: the calls up to its closing tag and where that ends, or None if it is no whole call."""


def parse_reply(text: str, syntax: ToolSyntax, tools: Sequence[Mapping[str, Any]]) -> Reply:
    """Takes a reply apart; never raises, for any text.

    A missing `</tool_call>` is forgiven at the end of the reply only, and only if the call is otherwise whole.

    Args:
        text: the decoded reply without its end-of-turn token.
        syntax: how the model writes calls.
        tools: OpenAI's list, for the types of parameters that QWEN_XML doesn't show.
    """
    thinking = THINKING.match(text)
    text = text[thinking.end() :] if thinking else text
    read = _hermes(text) if syntax is ToolSyntax.HERMES else _qwen_xml(text, tools)
    outside: list[str] = []
    calls: list[ToolCall] = []
    at = 0
    for opening in OPEN.finditer(text):
        found = read(opening.end()) if opening.start() >= at else None  # one inside of a call is part of an argument
        if found:
            outside.append(text[at : opening.start()])
            calls += found[0]
            at = found[1]
    return Reply("".join([*outside, text[at:]]).strip(), tuple(calls))


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):  # JSON has no NaN and no infinity, and a client would choke on them
        raise ValueError(f"{number} is no JSON number")
    return value


# Not strict: a raw newline in a string is the commonest slip of small models, and its meaning is plain.
DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_finite)


def _loads(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is none, or nested so deeply that a client could fail to write or read it.
    """
    try:
        value = DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not _shallow(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    return value


def _shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(item, levels - 1) for item in items)


def _hermes(text: str) -> Reader:
    def read(at: int) -> tuple[list[ToolCall], int] | None:
        body = JSON.match(text, at)
        if not body:
            return None
        try:
            value = _loads(body[1])
            calls = [_call(item) for item in (value if isinstance(value, list) else [value])]
        except ValueError:
            return None
        return (calls, body.end()) if calls else None  # an empty list calls nothing and stays text

    return read


def _call(value: Any) -> ToolCall:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise ValueError("no call")
    arguments = value.get("arguments", {})
    arguments = _loads(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(arguments, dict):
        raise ValueError("no arguments")
    return ToolCall(value["name"], arguments)


def _qwen_xml(text: str, tools: Sequence[Mapping[str, Any]]) -> Reader:
    ends = list(PARAMETER_END.finditer(text))
    starts = [end.start() for end in ends]
    # Whether a call that gets to an end is whole, known once for all calls: each end leads to the one after it.
    backwards = accumulate(reversed(ends), lambda after, end: after if end[1] else end[2] is not None, initial=False)
    whole = list(backwards)[::-1]
    verbatim = {(tool, key) for tool, key, schema in _parameters(tools) if _takes_text(schema)}

    def read(at: int) -> tuple[list[ToolCall], int] | None:
        function = FUNCTION.match(text, at)
        if not function:
            return None
        name, at = function[1], function.end()
        arguments: dict[str, Any] = {}
        while parameter := PARAMETER.match(text, at):
            number = bisect_left(starts, parameter.end())
            if not whole[number]:
                return None
            raw = text[parameter.end() : starts[number]]
            arguments[parameter[1]] = _value(raw, (name, parameter[1]) in verbatim)
            at = ends[number].end()
        end = FUNCTION_END.match(text, at)
        return ([ToolCall(name, arguments)], end.end()) if end else None

    return read


def _value(raw: str, is_text: bool) -> Any:
    raw = raw.removeprefix("\n").removesuffix("\n")
    if is_text:
        return raw
    try:
        return _loads(raw)
    except ValueError:
        return PYTHON_WORDS.get(raw.strip(), raw)


def _parameters(tools: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Any]]:
    """Name of the tool, name of the parameter and its schema."""
    functions = [tool["function"] for tool in tools]
    schemas = [(function["name"], function.get("parameters") or {}) for function in functions]
    return [(name, key, kind) for name, schema in schemas for key, kind in (schema.get("properties") or {}).items()]


def _takes_text(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    alternatives = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds) or any(map(_takes_text, alternatives))
