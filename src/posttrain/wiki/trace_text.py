"""A trace as lines of harmless text: which hand wrote each, and where a gold paragraph begins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from unicodedata import normalize as unicode_form

from posttrain.chat.format import ChatFormat
from posttrain.rollout.episode import Episode
from posttrain.rollout.pieces import text_pieces
from posttrain.terminal import harmless
from posttrain.wiki.cases import Case

LONGEST = 4000
"""Characters of a line that are shown; only text that is meant to flood a screen has more."""
SHORT = 300
"""Characters of a question, an answer or a list of titles above a trace."""
POLICY, GOLD, HARNESS = "> ", "* ", "  "
_COLOURS = {POLICY: "\033[1m", GOLD: "\033[32m"}


@dataclass(frozen=True)
class Line:
    """One line; `prefix` says whose: the policy's, the harness's, or a gold paragraph in what the harness put in."""

    prefix: str
    text: str


def trace_lines(case: Case, chat: ChatFormat) -> list[Line]:
    """What follows the first prompt, a new line at every change of hand."""
    return list(_lines(case.episode, case.gold_titles, chat))


def written(line: Line, colour: bool) -> str:
    """The line behind its prefix, on a terminal in bold for the policy and green for gold."""
    text = f"{line.prefix}{line.text}".rstrip()
    return f"{_COLOURS[line.prefix]}{text}\033[0m" if colour and line.prefix in _COLOURS else text


def rendered(case: Case, chat: ChatFormat, colour: bool) -> list[str]:
    """The whole trace ready for a terminal or a pipe."""
    return [written(line, colour) for line in trace_lines(case, chat)] or ["  (the policy was not asked)"]


def described(case: Case) -> list[str]:
    """What was asked, expected and answered, without the verdict: a person who labels must not see it."""
    answered = harmless(case.episode.answer, SHORT) or f"(none; it ended: {case.episode.end})"
    lines = [
        f"  question    {harmless(case.question, SHORT) or '(not in data/prep)'}",
        f"  gold        {harmless(' | '.join(case.answers), SHORT) or '(not known)'}",
        f"  prediction  {answered}",
    ]
    if case.gold_titles:
        found = {_as_read(str(title)) for titles in case.episode.info.get("retrieved", []) for title in titles}
        marked = [f"{title}: {'found' if _as_read(title) in found else 'not found'}" for title in case.gold_titles]
        lines.append(f"  paragraphs  {harmless('; '.join(marked), SHORT)}")
    return lines


def _lines(episode: Episode, gold_titles: Sequence[str], chat: ChatFormat) -> Iterator[Line]:
    heads = tuple(f"[{_as_read(title)}] " for title in gold_titles)
    for sampled, pieces in groupby(text_pieces(episode, chat), lambda piece: piece.sampled):
        text = "".join(piece.text for piece in pieces)
        if sampled:
            yield from (Line(POLICY, harmless(part, LONGEST)) for part in text.split("\n"))
            continue
        text, start = _as_read(text).strip("\n"), 0
        for part in text.split("\n"):
            # Looked up in the whole text, because a title may hold a line break.
            yield Line(GOLD if heads and text.startswith(heads, start) else HARNESS, harmless(part, LONGEST))
            start += len(part) + 1


def _as_read(text: str) -> str:
    """As a tokenizer gives text back: composed, and without halves of surrogate pairs."""
    return unicode_form("NFC", text.encode("utf-8", "replace").decode())
