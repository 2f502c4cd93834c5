"""A conversation with tools as its chat template writes it, cut at the contents, and the way back to token ids."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer

from posttrain.chat.template import refuse

Message = dict[str, Any]
Tool = Mapping[str, Any]


def render(tokenizer: Any, messages: Sequence[Message], tools: Sequence[Tool], *, tokenize: bool = False) -> Any:
    """The template's own rendering with thinking off, up to where the model writes: text, or token ids.

    Raises:
        TemplateError: the template rejects these messages or tools.
    """
    options = {"tools": list(tools) or None, "add_generation_prompt": True, "enable_thinking": False}
    try:
        rendered = tokenizer.apply_chat_template(list(messages), tokenize=tokenize, **options)
    except Exception as error:  # a template is a program of the model's author: it may raise anything
        roles = ", ".join(message["role"] for message in messages)
        raise refuse(tokenizer, f"its chat template fails on the roles {roles} with tools ({error})") from error
    return list(rendered["input_ids"]) if tokenize else rendered


def cut(tokenizer: Any, messages: Sequence[Message], tools: Sequence[Tool]) -> list[tuple[str, int | str]]:
    """Renders a conversation without showing the template any content, so that none can set off its logic.

    Blank contents are shown: some templates leave out an empty system message. An assistant's never is.

    Returns:
        Pairs of fixed text and what follows it: the number of the message whose content goes there, or text of a
        tool that the tokenizer would read as a control token. Nothing ("") follows the last.

    Raises:
        TemplateError: the template rejects the messages, or drops, repeats, reorders or rewrites them.
    """
    mark = "Sentinel"
    while mark in repr(tools):
        mark += "Again"
    hidden = [i for i, message in enumerate(messages) if message["content"].strip() or message["role"] == "assistant"]
    masked: list[str] = []

    def mask(text: str) -> str:
        kept, at = "", 0
        for start, stop in control_spans(tokenizer.backend_tokenizer, text):
            kept += f"{text[at:start]}{mark}{len(messages) + len(masked)}Z"
            masked.append(text[start:stop])
            at = stop
        return kept + text[at:]

    shown = [message | ({"content": f"{mark}{i}Z"} if i in hidden else {}) for i, message in enumerate(messages)]
    text: str = render(tokenizer, shown, [_each_string(tool, lambda string: mask(clean(string))) for tool in tools])
    parts = re.split(rf"{mark}(\d+)Z", text)
    holes = [int(number) for number in parts[1::2]]
    if [hole for hole in holes if hole < len(messages)] != hidden:
        raise refuse(tokenizer, "its chat template drops, repeats, reorders or rewrites messages")
    filled = [hole if hole < len(messages) else masked[hole - len(messages)] for hole in holes]
    return list(zip(parts[::2], [*filled, ""], strict=True))


def clean(text: str) -> str:
    """The text with halves of surrogate pairs, as broken JSON can carry, replaced: no tokenizer takes those."""
    return text.encode("utf-8", "replace").decode()


def control_spans(full: Tokenizer, text: str) -> list[tuple[int, int]]:
    """Where a tokenizer that knows control tokens reads one."""
    encoding, control = full.encode(text, add_special_tokens=False), full.get_added_tokens_decoder()
    return [encoding.offsets[i] for i, token in enumerate(encoding.ids) if token in control]


def _each_string(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _each_string(item, change) for key, item in value.items()}
    return [_each_string(item, change) for item in value] if isinstance(value, list | tuple) else value


class Stitcher:
    """Token ids of a text that is handed over in parts, of which only fixed ones may hold control tokens.

    Plain text is held back until a control token or exact ids follow, and then encoded as one, so that tokens may
    span the seams of parts as they do when the whole text is encoded at once.
    """

    def __init__(self, full: Tokenizer, encode_content: Callable[[str], list[int]]) -> None:
        self._full = full
        self._encode_content = encode_content
        self._held: list[str] = []
        self._ids: list[int] = []

    def fixed(self, text: str) -> None:
        """Text of the template."""
        spans = control_spans(self._full, text)
        if not spans:
            self._held.append(text)
            return
        start, stop = spans[0][0], spans[-1][1]
        self._held.append(text[:start])
        self.exact(self._full.encode(text[start:stop], add_special_tokens=False).ids)
        self._held.append(text[stop:])

    def plain(self, text: str) -> None:
        """Text in which nothing becomes a control token."""
        self._held.append(text)

    def exact(self, ids: Sequence[int]) -> None:
        """Ids that follow as they are."""
        self._ids += self._encode_content("".join(self._held))
        self._ids += ids
        self._held.clear()

    def ids(self) -> list[int]:
        """All that was handed over."""
        self.exact([])
        return self._ids
