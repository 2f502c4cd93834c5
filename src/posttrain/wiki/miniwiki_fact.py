"""What the generated world's things are like: the facts of each kind, how text says them and how questions ask.

In sentences {v} is the value, {s} a short subject that starts the sentence, {l} a short name inside it, {p} and {P}
the possessive. In questions {x} is a noun phrase for the thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from posttrain.wiki import miniwiki_names as names


@dataclass(frozen=True)
class Fact:
    """One property. Its value is another thing (`link`, for people with the occupation `role`), a word or a number.

    `keyword` is the word a search for it needs; `phrase` turns a link into a noun phrase for two-hop questions;
    `more` asks which of two things has the lower number (the higher if `highest`); `same` asks whether they agree.
    """

    name: str
    said: tuple[str, ...]
    asked: tuple[str, ...]
    keyword: str
    link: str = ""
    role: int = -1
    words: Sequence[str] = ()
    span: tuple[int, int] = (0, 0)
    form: str = "{}"
    phrase: str = ""
    more: tuple[str, ...] = ()
    highest: bool = False
    same: tuple[str, ...] = ()


def city_fact(name: str, said: tuple[str, ...], asked: tuple[str, ...], keyword: str, phrase: str = "") -> Fact:
    same: tuple[str, ...] = ()
    if name == "birth city":
        same = ("Were {a} and {b} born in the same city?", "Do {a} and {b} share a birthplace?")
    return Fact(name, said, asked, keyword, link="city", phrase=phrase, same=same)


def person_fact(
    name: str, role: str, said: tuple[str, ...], asked: tuple[str, ...], keyword: str, phrase: str, same: str = ""
) -> Fact:
    index = names.OCCUPATIONS.index(role)
    return Fact(name, said, asked, keyword, link="person", role=index, phrase=phrase, same=(same,) if same else ())


def year_fact(
    said: tuple[str, ...], asked: tuple[str, ...], keyword: str, more: tuple[str, ...], low: int = 1920
) -> Fact:
    return Fact("year", said, asked, keyword, span=(low, 2015), more=more)
