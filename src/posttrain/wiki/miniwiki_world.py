"""The generated world: every thing is an index into columns of numbers, and its text is made when asked for."""

import random
from array import array
from collections import Counter
from dataclasses import dataclass

from posttrain.wiki import miniwiki_names as names
from posttrain.wiki.miniwiki_fact import Fact
from posttrain.wiki.miniwiki_facts import FACTS
from posttrain.wiki.miniwiki_prose import ASIDES, INTROS

# Kinds in the order in which they are made, with their share of the paragraphs in percent.
SHARES = {
    "city": 5.0,
    "river": 1.5,
    "university": 3.0,
    "person": 40.5,
    "film": 18.0,
    "novel": 14.0,
    "company": 10.0,
    "band": 8.0,
}
LONGEST, SHORTEST = 60, 30
_NAMESAKES = 0.35
_WOMEN = frozenset(names.FIRST_NAMES[::2])


@dataclass(frozen=True)
class World:
    """Names and values of all things: `labels[kind][i]` is how text calls thing i, `columns[kind, fact][i]` its value.

    A value is the index of what is linked, of a word, or the number itself. `shared[kind][i]` is 1 when another
    person, or a work of another kind, has the same label; its title then holds a disambiguation.
    """

    seed: int
    labels: dict[str, list[str]]
    shared: dict[str, bytearray]
    occupations: bytearray
    columns: "dict[tuple[str, str], array[int]]"

    def occupation(self, person: int) -> str:
        return names.OCCUPATIONS[self.occupations[person]]

    def title(self, kind: str, i: int) -> str:
        label = self.labels[kind][i]
        if not self.shared[kind][i]:
            return label
        return f"{label} ({self.occupation(i) if kind == 'person' else kind})"

    def mention(self, kind: str, i: int) -> str:
        """How a question names the thing so that only one fits."""
        label = self.labels[kind][i]
        if kind == "person":
            return f"the {self.occupation(i)} {label}" if self.shared[kind][i] else label
        if kind == "city":
            return f"the city of {label}"
        return label if kind in ("river", "university") else f"the {kind} {label}"

    def value(self, kind: str, i: int, fact: Fact) -> str:
        number = self.columns[kind, fact.name][i]
        if fact.link:
            return self.labels[fact.link][number]
        return fact.words[number] if fact.words else fact.form.format(number)

    def text(self, kind: str, i: int, rng: random.Random) -> str:
        """A paragraph of 30 to 60 words: an opening, every fact once in any order, filled up when short."""
        label = self.labels[kind][i]
        subjects, own = _subjects(kind, label)
        draw = rng.random
        intros = INTROS[kind]
        opening = intros[int(draw() * len(intros))].format(
            n=label, o=_with_article(self.occupation(i)) if kind == "person" else ""
        )
        facts = list(FACTS[kind])
        sentences = [opening]
        while facts:
            fact = facts.pop(int(draw() * len(facts)))
            said = fact.said[int(draw() * len(fact.said))]
            subject = subjects[int(draw() * len(subjects))]
            value = self.value(kind, i, fact)
            sentences.append(said.format(s=subject, v=value, l=subjects[0], p=own, P=own.capitalize()))
        asides = list(ASIDES[kind])
        while asides and sum(map(_count_words, sentences)) < SHORTEST:
            sentences.append(asides.pop(int(draw() * len(asides))))
        return " ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)


def _count_words(sentence: str) -> int:
    return sentence.count(" ") + 1


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _subjects(kind: str, label: str) -> tuple[tuple[str, ...], str]:
    """Short subjects for sentences, the first of which can stand inside one too, and the possessive."""
    if kind == "person":
        first, last = label.split(" ")
        woman = first in _WOMEN
        return (last, "She" if woman else "He"), "her" if woman else "his"
    if kind in ("city", "river", "university"):
        return (label, "It"), "its"
    return (f"the {kind}", label, "It"), "its"


def build_world(paragraphs: int, seed: int) -> World:
    """Makes a world of exactly `paragraphs` things; equal arguments make equal worlds in every process."""
    rng = random.Random(f"miniwiki world {seed}")
    counts = _counts(paragraphs)
    occupations = bytearray()
    labels = {
        "city": names.places(rng, counts["city"], names.CITY_ENDS),
        "river": names.places(rng, counts["river"], names.RIVER_ENDS, "{} River"),
    }
    labels["university"] = _pairs(rng, names.ALL_SURNAMES, names.SCHOOLS, counts["university"])
    labels["person"] = _people(rng, counts["person"], occupations)
    labels["film"] = _works(rng, labels["city"], counts["film"], paragraphs, [])
    labels["novel"] = _works(rng, labels["city"], counts["novel"], paragraphs, labels["film"])
    labels["company"] = _pairs(
        rng, _surnames(counts["person"]) + tuple(labels["city"]), names.TRADES, counts["company"]
    )
    fronts = tuple(f"The {word}" for word in names.ADJECTIVES) + tuple(labels["city"])
    labels["band"] = _pairs(rng, fronts, names.PLURALS, counts["band"])
    with_role: dict[int, list[int]] = {role: [] for role in range(len(names.OCCUPATIONS))}
    for person, occupation in enumerate(occupations):
        with_role[occupation].append(person)
    columns = {
        (kind, fact.name): _column(rng, fact, counts[kind], labels, with_role)
        for kind, facts in FACTS.items()
        for fact in facts
    }
    return World(seed, labels, _shared(labels), occupations, columns)


def _counts(paragraphs: int) -> dict[str, int]:
    counts = {kind: max(2, int(paragraphs * share / 100)) for kind, share in SHARES.items()}
    counts["person"] += paragraphs - sum(counts.values())
    return counts


def _column(
    rng: random.Random, fact: Fact, count: int, labels: dict[str, list[str]], with_role: dict[int, list[int]]
) -> "array[int]":
    draw = rng.random
    if fact.role >= 0:
        members = with_role[fact.role]
        return array("l", [members[int(draw() * len(members))] for _ in range(count)])
    low, high = fact.span
    if fact.link or fact.words:
        high = len(labels[fact.link] if fact.link else fact.words) - 1
    return array("l", [low + int(draw() * (high - low + 1)) for _ in range(count)])


def _surnames(people: int) -> tuple[str, ...]:
    """As many surnames as leave about five people to each, so that a surname alone finds several."""
    return names.ALL_SURNAMES[: max(8, people // 5)]


def _people(rng: random.Random, count: int, occupations: bytearray) -> list[str]:
    """Names, with the occupations written beside; no two people share name and occupation."""
    draw = rng.random
    firsts, lasts = names.FIRST_NAMES[: max(8, count // 3)], _surnames(count)
    labels: list[str] = []
    seen: set[tuple[str, int]] = set()
    for person in range(count):
        occupation = names.OCCUPATION_ORDER[person % len(names.OCCUPATION_ORDER)]
        while True:
            if labels and draw() < _NAMESAKES:
                label = labels[int(draw() * len(labels))]
            else:
                label = f"{firsts[int(draw() * len(firsts))]} {lasts[int(draw() * len(lasts))]}"
            if (label, occupation) not in seen:
                break
        seen.add((label, occupation))
        labels.append(label)
        occupations.append(occupation)
    return labels


def _works(rng: random.Random, cities: list[str], count: int, paragraphs: int, taken: list[str]) -> list[str]:
    """Titles of one kind of work; some are those of `taken`, and a small vocabulary makes the others alike."""
    draw = rng.random
    size = max(10, paragraphs // 50)
    nouns, adjectives = names.NOUNS[:size], names.ADJECTIVES[:size]
    labels: list[str] = []
    seen: set[str] = set()
    while len(labels) < count:
        noun, pattern = nouns[int(draw() * len(nouns))], int(draw() * 4)
        if taken and draw() < _NAMESAKES:
            label = taken[int(draw() * len(taken))]
        elif pattern < 2:
            label = f"The {adjectives[int(draw() * len(adjectives))]} {noun}"
        elif pattern == 2:
            label = " and ".join(sorted({noun, nouns[int(draw() * len(nouns))]}))
        else:
            label = f"{noun} of {cities[int(draw() * len(cities))]}"
        if label not in seen and label != noun:
            seen.add(label)
            labels.append(label)
    return labels


def _pairs(rng: random.Random, fronts: tuple[str, ...], backs: tuple[str, ...], count: int) -> list[str]:
    chosen = rng.sample(range(len(fronts) * len(backs)), count)
    return [f"{fronts[k // len(backs)]} {backs[k % len(backs)]}" for k in chosen]


def _shared(labels: dict[str, list[str]]) -> dict[str, bytearray]:
    shared = {kind: bytearray(len(things)) for kind, things in labels.items()}
    for group in (("person",), ("film", "novel", "company", "band")):
        uses = Counter(label for kind in group for label in labels[kind])
        for kind in group:
            shared[kind] = bytearray(uses[label] > 1 for label in labels[kind])
    return shared
