"""The fixed pieces of a chat template, found by rendering stand-in messages and cutting at them.

No family is hard-coded: a template either lets itself be cut this way or is refused.
"""

import re
from dataclasses import dataclass
from typing import Any

from posttrain.errors import TemplateError

SYSTEM, USER, REPLY, NEXT = "Sentinel1System", "Sentinel2User", "Sentinel3Reply", "Sentinel4Next"
EMPTY_THINKING = re.compile(r"<([a-z_]+)>\s*</\1>\s*")

Message = dict[str, str]


@dataclass(frozen=True)
class Pieces:
    """A template's text around the contents of a conversation, thinking off.

    Attributes:
        default_head: before the first user content when there is no system message.
        empty_head: the same when the system message is empty.
        head: before the system content.
        joint: between system and first user content.
        header: from the end of a user content to where the model writes.
        thinking: the empty think block at the end of `header` that the template drops from earlier turns, or "".
        turn: from the end of a reply to the next user content; begins with the end of turn.
    """

    default_head: str
    empty_head: str
    head: str
    joint: str
    header: str
    thinking: str
    turn: str


def conversation(system: str | None, *turns: str) -> list[Message]:
    """Messages of a conversation whose `turns` alternate between user and assistant; no system message for None."""
    first = [] if system is None else [{"role": "system", "content": system}]
    return first + [{"role": ("user", "assistant")[i % 2], "content": turn} for i, turn in enumerate(turns)]


def model_name(tokenizer: Any) -> str:
    """What messages call the model of this tokenizer."""
    return str(getattr(tokenizer, "name_or_path", "") or "this model")


def refuse(tokenizer: Any, why: str) -> TemplateError:
    """The one-line error for a model whose template does not fit."""
    return TemplateError(f"{model_name(tokenizer)}: {' '.join(why.split())}; set another model")


def render(tokenizer: Any, messages: list[Message], *, tokenize: bool = False) -> Any:
    """The template's own rendering up to where the model writes: text, or token ids.

    Raises:
        TemplateError: the template rejects these messages.
    """
    try:
        rendered = tokenizer.apply_chat_template(
            messages, tokenize=tokenize, add_generation_prompt=True, enable_thinking=False
        )
    except Exception as error:  # a template is a program of the model's author: it may raise anything
        roles = ", ".join(message["role"] for message in messages)
        raise refuse(tokenizer, f"its chat template fails on the roles {roles} ({error})") from error
    return list(rendered["input_ids"]) if tokenize else rendered


def cut(tokenizer: Any, messages: list[Message], *sentinels: str) -> list[str]:
    """The rendering of `messages` cut at each sentinel, which must occur once and in this order.

    Raises:
        TemplateError: a sentinel is missing, repeated or out of order.
    """
    text: str = render(tokenizer, messages)
    pieces = []
    for sentinel in sentinels:
        before, found, text = text.partition(sentinel)
        if not found or sentinel in text:
            raise refuse(tokenizer, "its chat template drops, repeats, reorders or rewrites messages")
        pieces.append(before)
    return [*pieces, text]


def pieces_of(tokenizer: Any) -> Pieces:
    """Derives the fixed pieces of a tokenizer's chat template.

    Raises:
        TemplateError: there is no template, or turns cannot be stitched the way it renders them.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise refuse(tokenizer, "its tokenizer has no chat template, so turns cannot be rendered")
    head, joint, header = cut(tokenizer, conversation(SYSTEM, USER), SYSTEM, USER)
    default_head, _ = cut(tokenizer, conversation(None, USER), USER)
    empty_head, _ = cut(tokenizer, conversation("", USER), USER)
    whole = cut(tokenizer, conversation(SYSTEM, USER, REPLY, NEXT), SYSTEM, USER, REPLY, NEXT)
    if (whole[0], whole[1], whole[4]) != (head, joint, header):
        raise refuse(tokenizer, "its chat template changes the start of a conversation when a turn is added")
    earlier_header, turn = whole[2], whole[3]
    thinking = header.removeprefix(earlier_header)
    if not header.startswith(earlier_header) or (thinking and not EMPTY_THINKING.fullmatch(thinking)):
        raise refuse(
            tokenizer, f"its chat template begins earlier replies with {earlier_header!r} but the next with {header!r}"
        )
    return Pieces(default_head, empty_head, head, joint, header, thinking, turn)
