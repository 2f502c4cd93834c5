"""Prompts of a conversation with tools as token ids, equal to what the model's chat template renders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import Any, Literal

from tokenizers import Tokenizer

from posttrain.chat.format import ChatFormat
from posttrain.chat.template import refuse
from posttrain.chat.tool_pieces import Message, Stitcher, control_spans, cut, render
from posttrain.chat.tool_syntax import ToolSyntax
from posttrain.chat.tool_traits import TOOL, Traits, describe, traits_of

Tools = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Turn:
    """One message.

    Attributes:
        role: who speaks; "tool" is the result of one call.
        content: its text, calls of an assistant written out.
        tokens: for a sampled assistant turn the exact ids without the end-of-turn token; `content` is then unused.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tokens: tuple[int, ...] | None = None


PROBES: tuple[tuple[Turn, ...], ...] = (
    (
        Turn("system", "Answer briefly."),
        Turn("user", "What is in a.py?"),
        Turn("assistant", "I read it."),
        Turn("tool", "    x = 1\n\ty = 2\n"),
        Turn("tool", "no such file"),
        Turn("assistant", "One line."),
        Turn("user", "  Sure? \n"),
        Turn("assistant", "I look again."),
        Turn("tool", "\n\n1. 北京 🙂"),
        Turn("assistant", "Yes."),
        Turn("user", "«Été?»"),
    ),
    (Turn("user", "12 + 30 = ?"), Turn("assistant", "42"), Turn("user", "\u0301why")),
    (Turn("system", ""), Turn("user", "Fix it."), Turn("assistant", "Done?"), Turn("tool", "")),
)


@dataclass(frozen=True)
class ToolChat:
    """How one model family holds a conversation with tools, thinking off. Made and checked by `ToolChat.of`.

    No content becomes a control token, and neither does text of the tools. A prompt continues the one before it:
    it begins with that prompt's ids and what was sampled after them. So every assistant turn keeps the empty think
    block that was in front of it, also where the template drops those of earlier turns.

    Attributes:
        syntax: how the model writes calls, for `parse_reply`.
        end: id of the end-of-turn token.
    """

    syntax: ToolSyntax
    end: int
    _tokenizer: Any = field(repr=False)
    _full: Tokenizer = field(repr=False)
    _chat: ChatFormat = field(repr=False)
    _traits: Traits = field(repr=False)

    @staticmethod
    def of(tokenizer: Any) -> "ToolChat":
        """Derives it from a transformers tokenizer and proves it against the template.

        Raises:
            TemplateError: the template is missing, writes calls in an unknown syntax, or prompts stitched here
                would differ from its rendering.
        """
        chat, traits = ChatFormat.of(tokenizer), traits_of(tokenizer)
        made = ToolChat(traits.syntax, chat.end, tokenizer, tokenizer.backend_tokenizer, chat, traits)
        for probe in PROBES:
            for tools in ([], [TOOL]):
                _check(made, probe, tools)
        return made

    def prompt(self, messages: Sequence[Turn], tools: Tools) -> list[int]:
        """Token ids of the conversation up to where the model writes.

        Contents are stripped of surrounding white space where the template strips them.

        Args:
            messages: in order; a system message only where the template takes it, which is mostly the start.
            tools: OpenAI's list; may be empty.

        Raises:
            TemplateError: the template rejects this order of roles.
        """
        turns = self._told(messages, tools)
        stitcher = Stitcher(self._full, self._chat.encode_content)
        thinking = self._chat.decode(self._chat.thinking)
        for fixed, hole in cut(self._tokenizer, [_message(turn) for turn in turns], tools):
            turn = turns[hole] if isinstance(hole, int) else None
            if turn and turn.role == "assistant":
                stitcher.fixed(fixed if fixed.endswith(thinking) else fixed + thinking)
                stitcher.exact(self._chat.encode_content(self._content(turn)) if turn.tokens is None else turn.tokens)
            else:
                stitcher.fixed(fixed)
                stitcher.plain(self._content(turn) if turn else str(hole))
        return stitcher.ids()

    def decode_reply(self, tokens: Sequence[int]) -> str:
        """Text of what was sampled, control tokens written out, without the end-of-turn token that closes it."""
        return self._chat.decode_reply(list(tokens))

    def _content(self, turn: Turn) -> str:
        return turn.content.strip() if turn.role in self._traits.strips else turn.content

    def _told(self, messages: Sequence[Turn], tools: Tools) -> list[Turn]:
        """The turns that tell what the template can't: which tools there are, and results of calls."""
        turns = list(messages)
        if tools and not self._traits.tells:
            system = turns.pop(0).content.strip() if turns and turns[0].role == "system" else ""
            turns.insert(0, Turn("system", f"{system}\n\n{describe(tools)}".lstrip()))
        if self._traits.results:
            return turns
        told: list[Turn] = []
        for role, group in groupby(turns, lambda turn: turn.role):
            if role == "tool":
                results = [f"<tool_response>\n{turn.content}\n</tool_response>" for turn in group]
                told.append(Turn("user", "\n".join(results)))  # one turn: such templates want users to alternate
            else:
                told += group
        return told


def _message(turn: Turn) -> Message:
    return {"role": turn.role, "content": turn.content}


def _check(chat: ToolChat, probe: Sequence[Turn], tools: Tools) -> None:
    """Proves that prompts equal the template's rendering, but for empty think blocks, and continue one another."""
    whole, told = chat.prompt(probe, tools), chat._told(probe, tools)
    # Tags that are told here rather than by the template stay text, also where the tokenizer has tokens for them.
    if not any(control_spans(chat._full, turn.content) for turn in told):
        ours = _without(whole, chat._chat.thinking)
        rendered = render(chat._tokenizer, [_message(turn) for turn in told], tools, tokenize=True)
        theirs = _without(rendered, chat._chat.thinking)
        if ours != theirs:
            at = next(i for i, (our, their) in enumerate(zip_longest(ours, theirs)) if our != their)
            texts = [chat._chat.decode(ids[at : at + 8]) for ids in (ours, theirs)]
            why = f"prompts with tools stitched here differ from its chat template: {texts[0]!r} for {texts[1]!r}"
            raise refuse(chat._tokenizer, why)
    for at, turn in enumerate(probe):
        if turn.role == "assistant":
            before = [*chat.prompt(probe[:at], tools), *chat._chat.encode_content(turn.content), chat.end]
            if whole[: len(before)] != before:
                raise refuse(chat._tokenizer, "its chat template writes a conversation anew when it goes on")


def _without(ids: list[int], part: list[int]) -> list[int]:
    kept: list[int] = []
    for token in ids:
        kept.append(token)
        if part and kept[-len(part) :] == part:
            del kept[-len(part) :]
    return kept
