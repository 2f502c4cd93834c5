"""An episode's tokens as the turns of a conversation, for programs that know messages and not tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from posttrain.chat.format import ChatFormat
from posttrain.rollout.episode import Episode
from posttrain.wiki.protocol import Search, parse

_MARKS = ("Mark7431", "Mark8642")
"""Words that no chat template holds, to see what one puts around contents."""


@dataclass(frozen=True)
class Turn:
    """One turn: what the policy wrote, or what it was told.

    `results` are what a search brought, `query` the search of a policy's turn that was run. `text` is what was sampled,
    without the end-of-turn token; what the template puts around a turn is left out.
    """

    role: Literal["system", "user", "policy", "results"]
    text: str
    query: str | None = None


def turns(episode: Episode, chat: ChatFormat) -> list[Turn]:
    """The turns in order, the system prompt first."""
    found = list(_prompt(chat.decode(episode.prompt), chat))
    runs = [(sampled, tokens) for sampled, tokens in _runs(episode) if sampled or tokens != [chat.end]]
    for number, (sampled, tokens) in enumerate(runs):
        answered = number + 1 < len(runs)
        if sampled:
            reply = chat.decode_reply(tokens)
            action = parse(reply).action
            query = action.query if answered and isinstance(action, Search) else None
            found.append(Turn("policy", reply, query))
        else:
            told = tokens[1:] if tokens[0] == chat.end else tokens  # the policy's last token, if it left it out
            role: Literal["results", "user"] = "results" if found[-1].query is not None else "user"
            found.append(Turn(role, _inner(chat.decode(told), chat)))
    return found


def _runs(episode: Episode) -> Iterator[tuple[bool, list[int]]]:
    tokens = zip(episode.sampled, episode.tokens, strict=True)
    for sampled, run in groupby(tokens, lambda pair: bool(pair[0])):
        yield sampled, [token for _, token in run]


def _prompt(text: str, chat: ChatFormat) -> Iterator[Turn]:
    """System and user turn of the first prompt; all of it as the user's where the template wrote another system."""
    head, joint, tail = _around(chat.decode(chat.prompt(*_MARKS)), *_MARKS)
    inner = text[len(head) : len(text) - len(tail)]
    if text.startswith(head) and text.endswith(tail) and joint in inner:
        system, _, user = inner.partition(joint)
        yield Turn("system", system)
        yield Turn("user", user)
    else:
        yield Turn("user", text)


def _inner(text: str, chat: ChatFormat) -> str:
    head, tail = _around(chat.decode(chat.next_turn(_MARKS[0])), _MARKS[0])
    return text.removeprefix(head).removesuffix(tail)


def _around(text: str, *marks: str) -> list[str]:
    parts = []
    for mark in marks:
        part, _, text = text.partition(mark)
        parts.append(part)
    return [*parts, text]
