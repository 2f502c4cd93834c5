"""Splits a program in Python, JavaScript or Julia into tokens, well enough to see what it prints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "number", "text", "sign", "line"]


@dataclass(frozen=True)
class Token:
    """kind: of the token. text: of a "text", without its quotes, and without what is filled in (which follows)."""

    kind: Kind
    text: str


_COMMENTS = {
    "python": r"\#[^\n]*",
    "julia": r"\#=.*?=\#|\#[^\n]*",
    "javascript": r"//[^\n]*|/\*.*?\*/",
}
_TEXTS = {
    "python": r"[bBfFrRuU]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    "julia": r"\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'",
    "javascript": r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`",
}
_FILLED = {
    "python": r"(?<!\{)\{([^{}!:]+)[^{}]*\}(?!\})",
    "julia": r"\$\(([^()]*)\)|\$([A-Za-z_]\w*)",
    "javascript": r"\$\{([^{}]*)\}",
}
_REST = r"(?P<number>\d[\w.]*)|(?P<name>[^\W\d]\w*!?)|(?P<line>\n|;)|(?P<sign>\*\*=?|[-+*/%^|&<>=!]=+|\+\+|--|[^\w\s])"
_TOKENS = {
    language: re.compile(rf"(?P<comment>{_COMMENTS[language]})|(?P<text>{_TEXTS[language]})|{_REST}", re.DOTALL)
    for language in _COMMENTS
}


def tokens(source: str, language: str) -> Iterator[Token]:
    """The tokens; comments and blanks are left out. `line` ends a statement: a new line or a semicolon."""
    for match in _TOKENS[language].finditer(source):
        kind = match.lastgroup
        if kind == "text":
            yield from _text(match[0], language)
        elif kind == "number":
            yield Token("number", match[0].replace("_", "").removesuffix("n"))
        elif kind == "name":
            yield Token("name", match[0])
        elif kind is not None and kind != "comment":
            yield Token("line" if kind == "line" else "sign", match[0])


def _text(quoted: str, language: str) -> Iterator[Token]:
    body = quoted.lstrip("bBfFrRuU") if language == "python" else quoted
    prefix = quoted[: len(quoted) - len(body)].lower()
    edge = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    inner = body[edge:-edge]
    fills = language == "julia" or (language == "python" and "f" in prefix) or body[0] == "`"
    pattern = re.compile(_FILLED[language])
    yield Token("text", pattern.sub("", inner) if fills else inner)
    if fills:
        for match in pattern.finditer(inner):
            yield from tokens(next(group for group in match.groups() if group is not None), language)
