"""What a task of the suite is made of, and the numbers that fill its files: always the same ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Template:
    """A task in every language.

    prompt: may hold {suffix}, how a program file of the assigned language ends. files: those of the workspace by name,
    for the assigned language. answer: the value that a right program prints.
    """

    name: str
    prompt: str
    files: Callable[[str], dict[str, bytes]]
    answer: str


def draws(seed: int) -> Iterator[int]:
    """Numbers below 2^32 that no version of Python can change.

    The linear congruential generator of Knuth's MMIX (The Art of Computer Programming 2, 3.3.4, table 1), upper half.
    """
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 32


def between(source: Iterator[int], low: int, high: int) -> int:
    """The next number, from `low` to `high`, both included."""
    return low + next(source) % (high - low + 1)


def one_of(source: Iterator[int], options: Sequence[T]) -> T:
    """The next of the options."""
    return options[next(source) % len(options)]


def text_file(lines: Sequence[str]) -> bytes:
    """The lines in UTF-8, each ended by a newline."""
    return "".join(f"{line}\n" for line in lines).encode()
