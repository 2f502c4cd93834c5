"""An episode's tokens with the text that each stands for: what a reader of traces looks at."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from posttrain.chat.format import ChatFormat
from posttrain.rollout.episode import Episode

BROKEN = "\ufffd"
_LONGEST_LETTER = 4
"""Bytes of the longest UTF-8 letter, and so the most tokens that one letter can be spread over."""


@dataclass(frozen=True)
class Piece:
    """Tokens of one hand and one kind that make whole letters.

    Attributes:
        text: as the model reads it, control tokens written out; U+FFFD where bytes make no letter.
        tokens: their ids, at least one.
        sampled: whether the policy wrote them; else the harness did.
        control: whether they are of those that no text can be encoded to, such as the end of a turn.
        logprobs: the sampler's, one a token; 0.0 for the harness's.
    """

    text: str
    tokens: list[int]
    sampled: bool
    control: bool
    logprobs: list[float]


def prompt_of(episode: Episode) -> Episode:
    """The first prompt as an episode of its own, of which the harness wrote every token."""
    length = len(episode.prompt)
    return replace(episode, prompt=[], tokens=episode.prompt, sampled=[0] * length, logprobs=[0.0] * length)


def token_pieces(episode: Episode, chat: ChatFormat) -> list[Piece]:
    """What follows the first prompt, each piece as few tokens as can be: nearly always one."""
    return [piece for stretch in _stretches(episode, chat) for piece in _letters(stretch, chat)]


def text_pieces(episode: Episode, chat: ChatFormat) -> list[Piece]:
    """The same with what the harness wrote in one piece between control tokens."""
    found: list[Piece] = []
    for stretch in _stretches(episode, chat):
        found += _letters(stretch, chat) if stretch.sampled or stretch.control else [stretch]
    return found


def _stretches(episode: Episode, chat: ChatFormat) -> Iterator[Piece]:
    """The longest pieces of one hand and one kind."""
    kinds = ((bool(flag), chat.is_control(id)) for flag, id in zip(episode.sampled, episode.tokens, strict=True))
    start = 0
    for (sampled, control), run in groupby(kinds):
        part = slice(start, start + len(list(run)))
        ids_T = episode.tokens[part]
        yield Piece(chat.decode(ids_T), ids_T, sampled, control, episode.logprobs[part])
        start = part.stop


def _letters(stretch: Piece, chat: ChatFormat) -> Iterator[Piece]:
    start, ids_T = 0, stretch.tokens
    for end in range(1, len(ids_T) + 1):
        text = chat.decode(ids_T[start:end])
        if text.endswith(BROKEN) and end < len(ids_T) and end - start < _LONGEST_LETTER:
            continue  # the next token may end the letter
        yield Piece(text, ids_T[start:end], stretch.sampled, stretch.control, stretch.logprobs[start:end])
        start = end
