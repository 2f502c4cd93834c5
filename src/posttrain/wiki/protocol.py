"""The actions a research policy writes: `<search>key words</search>` and `<answer>text</answer>`."""

import re
from dataclasses import dataclass

TAG = re.compile(r"<(/?)(search|answer)>")


@dataclass(frozen=True)
class Search:
    """Look these words up; may be empty, which finds nothing."""

    query: str


@dataclass(frozen=True)
class Answer:
    """The final answer; may be empty."""

    text: str


@dataclass(frozen=True)
class Parsed:
    """The action that counts, and how many complete ones followed it in the same reply."""

    action: Search | Answer | None
    extra: int = 0


def spoken(reply: str) -> str:
    """The part of a reply that is not thinking: after the last `</think>`, up to a `<think>` never closed after it."""
    return reply.rpartition("</think>")[2].partition("<think>")[0]


def parse(reply: str) -> Parsed:
    """Finds the action of a reply: the first complete one that is spoken.

    Complete is an opening tag with a closing tag of its kind after it and no second opening tag of that kind
    between them, so a tag that is only mentioned does not swallow the action after it. Takes linear time.
    """
    text = spoken(reply)
    tags = list(TAG.finditer(text))
    following: dict[str, re.Match[str]] = {}  # by kind: the next tag of that kind
    closed_by: list[re.Match[str] | None] = []
    for tag in reversed(tags):
        closing = following.get(tag[2]) if not tag[1] else None
        closed_by.append(closing if closing is not None and closing[1] else None)
        following[tag[2]] = tag
    found: list[Search | Answer] = []
    end = 0
    for tag, closing in zip(tags, reversed(closed_by), strict=True):
        if closing is None or tag.start() < end:
            continue
        content = text[tag.end() : closing.start()].strip()
        found.append(Search(content) if tag[2] == "search" else Answer(content))
        end = closing.end()
    return Parsed(found[0], len(found) - 1) if found else Parsed(None)
