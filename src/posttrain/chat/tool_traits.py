"""What a chat template does with tools, found by rendering: no family is hard-coded."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posttrain.chat.template import refuse
from posttrain.chat.tool_pieces import Message, Tool, cut, render
from posttrain.chat.tool_syntax import ToolCall, ToolSyntax, parse_reply
from posttrain.errors import TemplateError

PADDING = " \n "
CALL = ToolCall("probe_tool", {"path": "Probe text", "count": 3})
TOOL: Tool = {
    "type": "function",
    "function": {
        "name": CALL.name,
        "description": "Probes.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "count": {"type": "integer"}}},
    },
}


@dataclass(frozen=True)
class Traits:
    """How a template treats tools.

    Attributes:
        syntax: how it writes a call; HERMES if it knows no tools.
        tells: whether it tells the model which tools there are.
        results: whether it takes messages of role "tool".
        strips: roles whose contents it strips of surrounding white space.
    """

    syntax: ToolSyntax
    tells: bool
    results: bool
    strips: frozenset[str]


def traits_of(tokenizer: Any) -> Traits:
    """Finds them.

    Raises:
        TemplateError: the template knows tools but writes calls in a syntax that isn't known here.
    """
    tells = CALL.name in render(tokenizer, [_message("user", "Probe")], [TOOL])
    results = _takes_results(tokenizer)
    return Traits(_syntax(tokenizer) if tells else ToolSyntax.HERMES, tells, results, _strips(tokenizer, results))


def describe(tools: Sequence[Tool]) -> str:
    """What the system message says of tools and HERMES calls where the template says nothing."""
    schemas = [json.dumps(tool["function"], ensure_ascii=False, separators=(",", ":")) for tool in tools]
    return "\n".join(
        [
            "You can call these tools; each line is the JSON schema of one:",
            "<tools>",
            *schemas,
            "</tools>",
            "To call a tool, write its name and its arguments as one JSON object, in these tags:",
            '<tool_call>{"name": "NAME", "arguments": {"KEY": "VALUE"}}</tool_call>',
            "Then stop: the result is in the next message. Without a call, the reply is your answer.",
        ]
    )


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _takes_results(tokenizer: Any) -> bool:
    roles = ("user", "assistant", "tool", "tool")
    try:
        cut(tokenizer, [_message(role, "Probe") for role in roles], [TOOL])
    except TemplateError:
        return False
    return True


def _syntax(tokenizer: Any) -> ToolSyntax:
    """The syntax whose reader finds the call that the template writes."""
    call = {"id": "call00001", "type": "function", "function": {"name": CALL.name, "arguments": CALL.arguments}}
    messages = [_message("user", "Probe"), _message("assistant", "") | {"tool_calls": [call]}]
    text = render(tokenizer, messages, [TOOL])
    for syntax in ToolSyntax:
        if CALL in parse_reply(text, syntax, [TOOL]).calls:
            return syntax
    known = " and ".join(f"`{syntax}`" for syntax in ToolSyntax)
    raise refuse(tokenizer, f"its chat template writes tool calls in a syntax that can't be read; {known} can")


def _strips(tokenizer: Any, results: bool) -> frozenset[str]:
    roles = ("system", "user", "assistant", *(["tool"] if results else []))
    padded = {role: f"{PADDING}Probe {role}{PADDING}" for role in roles}
    text = render(tokenizer, [_message(role, content) for role, content in padded.items()], [TOOL])
    return frozenset(role for role, content in padded.items() if content not in text)
