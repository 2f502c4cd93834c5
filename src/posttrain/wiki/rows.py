"""One question as every source gives it, and the rules by which two questions count as the same."""

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Split = Literal["train", "dev"]
Paragraph = tuple[str, str]
"""Title and text."""


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its gold titles in hop order.

    `context` holds (title, sentences) pairs and is empty when the corpus comes apart; `queries` are searches that
    find the gold paragraphs, one per title, and are empty when unknown; `where` names the file and line.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    type: str
    level: str
    titles: tuple[str, ...]
    queries: tuple[str, ...] = ()
    context: tuple[tuple[str, tuple[str, ...]], ...] = ()
    where: str = ""


@dataclass(frozen=True)
class Source:
    """Rows by split, and the corpus: its own stream, or None when it is made of the rows' contexts.

    `pooled` sources have only dev rows, and what test and val leave over is train. `strict` sources are the user's
    to mend, so that a repeated question or a gold title without a paragraph is refused; else it is counted.
    """

    rows: Callable[[Split], Iterator[Row]]
    corpus: Callable[[], Iterator[Paragraph]] | None
    pooled: bool = False
    strict: bool = True


_PUNCTUATION = str.maketrans("", "", string.punctuation)


def same_question_key(question: str) -> str:
    """Questions with equal keys count as one: lower case, ASCII punctuation removed, whitespace squeezed."""
    return " ".join(question.lower().translate(_PUNCTUATION).split())
