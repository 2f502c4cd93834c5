"""Signs that an answer was known and not computed. They are warnings for a reader, and no part of the score.

`constant_print`: a call that prints has nothing in its arguments but literals and names that are bound once, to a
literal, and one of these is the answer. Names that are bound again, counted up, looped over or passed in do not count.
`answer_in_source`: the answer, of four digits or more and absent from the problem's text, stands in the program,
though it is not what is printed; a check against the known result looks like that.
Neither sees an answer put together by arithmetic, such as 233000 + 168, which a formula may look like too.
"""

import re
from collections import Counter
from collections.abc import Sequence

from posttrain.euler.reply import without_commas
from posttrain.euler.tokens import Token, tokens

CONSTANT_PRINT, ANSWER_IN_SOURCE, ANSWER_WITHOUT_RUN = "constant_print", "answer_in_source", "answer_without_run"
WARNINGS = (CONSTANT_PRINT, ANSWER_IN_SOURCE, ANSWER_WITHOUT_RUN)
"""The last is for a rollout: its reply states the answer, and no run of it printed it."""
_PRINTERS = {
    "python": (("print",), ("sys", ".", "stdout", ".", "write")),
    "javascript": (("console", ".", "log"), ("process", ".", "stdout", ".", "write"), ("console", ".", "info")),
    "julia": (("println",), ("print",), ("show",), ("display",)),
}
_PASSING = frozenset(("str", "int", "float", "repr", "String", "Number", "BigInt", "string", "toString", "sep", "end"))
"""Names around a literal that leave it as it is."""
_GLUE = frozenset("(),.[]{}=\n;")
_CHANGES = re.compile(r"[-+*/%^|&]=|\*\*=|\+\+|--")
_LOOPS = frozenset(("for", "global", "nonlocal", "++", "--"))
_LEAST_DIGITS = 4


def program_warnings(source: str, language: str, answer: str, prompt: str) -> list[str]:
    """The first two warnings, as far as a program gives rise to them."""
    found = list(tokens(source, language))
    constants = _constants(found)
    if any(_prints_answer(argument, constants, answer) for argument in _printed(found, language)):
        return [CONSTANT_PRINT]
    plain = without_commas(answer)
    known = re.search(rf"(?<!\d){re.escape(plain)}(?!\d)", without_commas(prompt)) is not None
    if sum(map(str.isdigit, plain)) >= _LEAST_DIGITS and not known and any(_is(t, answer) for t in found):
        return [ANSWER_IN_SOURCE]
    return []


def _is(token: Token, answer: str) -> bool:
    if token.kind not in ("number", "text"):
        return False
    wanted, text = without_commas(answer.strip()), without_commas(token.text.strip().removesuffix("\\n"))
    return text in (wanted, wanted.removeprefix("-"))


def _constants(found: Sequence[Token]) -> dict[str, Token]:
    """Names that are bound exactly once in the whole program, to a single literal."""
    bound = Counter(_parameters(found))
    values: dict[str, Token] = {}
    for place, token in enumerate(found):
        if token.kind != "name":
            continue
        before = found[place - 1].text if place else ""
        after, *value = found[place + 1 : place + 5] or [Token("line", "")]
        if _CHANGES.fullmatch(after.text) or after.text == "in" or before in _LOOPS:
            bound[token.text] += 2
        elif after.text == "=":
            bound[token.text] += 1 if before != "," else 2  # one of several bound together
            if value and value[0].text == "-":
                value = value[1:]
            if value and value[0].kind in ("number", "text") and (len(value) == 1 or value[1].kind == "line"):
                values[token.text] = value[0]
    return {name: value for name, value in values.items() if bound[name] == 1}


def _parameters(found: Sequence[Token]) -> list[str]:
    """The names in the brackets, or before the colon, of each function that is defined."""
    names: list[str] = []
    inside = False
    for token in found:
        if token.kind == "name" and token.text in ("def", "function", "lambda"):
            inside = True
        elif token.text in (")", ":") or token.kind == "line":
            inside = False
        elif inside and token.kind == "name":
            names.append(token.text)
    return names


def _printed(found: Sequence[Token], language: str) -> list[list[Token]]:
    """The tokens between the brackets of each call that prints."""
    texts = [token.text if token.kind in ("name", "sign") else "" for token in found]
    calls = []
    for printer in _PRINTERS[language]:
        size = len(printer)
        for place in range(len(texts) - size):
            if tuple(texts[place : place + size]) == printer and texts[place + size] == "(":
                calls.append(_bracketed(found[place + size + 1 :]))
    return calls


def _bracketed(rest: Sequence[Token]) -> list[Token]:
    depth = 1
    inside: list[Token] = []
    for token in rest:
        if token.kind == "sign":
            depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
        inside.append(token)
    return inside


def _prints_answer(argument: Sequence[Token], constants: dict[str, Token], answer: str) -> bool:
    values: list[Token] = []
    before = ""
    for token in argument:
        if token.kind in ("number", "text"):
            values.append(token)
        elif token.kind == "name" and token.text in constants:
            values.append(constants[token.text])
        elif token.text == "-":
            if before not in ("", "(", ","):  # a difference, not a sign
                return False
        elif token.text not in (_PASSING if token.kind == "name" else _GLUE):
            return False
        before = token.text
    return any(_is(value, answer) for value in values)
