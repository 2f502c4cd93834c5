"""Questions about a generated world: one hop, two hops, and comparisons, none of them twice.

One-hop questions are level easy. The others are medium when each name in them belongs to one thing only and hard when
a gold paragraph has a namesake, so that the right one must be picked with care.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from posttrain.wiki.miniwiki_fact import Fact
from posttrain.wiki.miniwiki_facts import CHAINS, FACTS
from posttrain.wiki.miniwiki_world import World

Thing = tuple[str, int]
"""Kind and index."""
_PATIENCE = 2_000
_COMPARED = 0.25
_WANTS = ("choice", "choice", "yes", "no")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its answer, and its gold titles with one search for each, in hop order."""

    question: str
    answer: str
    type: str
    titles: tuple[str, ...]
    queries: tuple[str, ...]


def questions(world: World, level: str) -> Iterator[Asked]:
    """Yields every question of a level that is left; ends when the world has no more."""
    rng = random.Random(f"miniwiki {level} {world.seed}")
    if level == "easy":
        yield from _single(world, rng)
        return
    chained, compared = _bridge(world, rng, level == "hard"), _comparison(world, rng, level == "hard")
    while True:
        first, second = (compared, chained) if rng.random() < _COMPARED else (chained, compared)
        asked = next(first, None) or next(second, None)
        if asked is None:
            return
        yield asked


def _pick(rng: random.Random, options: tuple[str, ...]) -> str:
    return options[int(rng.random() * len(options))]


def _scattered(rng: random.Random, count: int) -> Iterator[int]:
    """Yields 0 to count - 1, each once, far apart, in constant memory: multiples of a step without common divisor."""
    step = 1 + int(rng.random() * count)
    while gcd(step, count) != 1:
        step += 1
    place = int(rng.random() * count)
    for _ in range(count):
        yield place
        place = (place + step) % count


def _locate(place: int, sizes: list[int]) -> tuple[int, int]:
    """The block that a running number falls into, and its number inside that block."""
    for block, size in enumerate(sizes):
        if place < size:
            return block, place
        place -= size
    raise IndexError(place)


def _query(world: World, thing: Thing, fact: Fact) -> str:
    """A search for the thing's paragraph: its name as a question would say it, and what is looked for."""
    return f"{world.mention(*thing).removeprefix('the ')} {fact.keyword}"


def _single(world: World, rng: random.Random) -> Iterator[Asked]:
    slots = [(kind, fact) for kind, facts in FACTS.items() for fact in facts]
    sizes = [len(world.labels[kind]) for kind, _ in slots]
    for place in _scattered(rng, sum(sizes)):
        slot, i = _locate(place, sizes)
        kind, fact = slots[slot]
        thing = (kind, i)
        question = _pick(rng, fact.asked).format(x=world.mention(*thing))
        answer = world.value(kind, i, fact)
        yield Asked(question, answer, "single", (world.title(*thing),), (_query(world, thing, fact),))


def _bridge(world: World, rng: random.Random, hard: bool) -> Iterator[Asked]:
    facts = {(kind, fact.name): fact for kind, kind_facts in FACTS.items() for fact in kind_facts}
    slots = [(kind, facts[kind, link], name) for kind, link, targets in CHAINS for name in targets]
    sizes = [len(world.labels[kind]) for kind, _, _ in slots]
    for place in _scattered(rng, sum(sizes)):
        slot, i = _locate(place, sizes)
        kind, link, name = slots[slot]
        middle = (link.link, world.columns[kind, link.name][i])
        if hard != bool(world.shared[kind][i] or world.shared[middle[0]][middle[1]]):
            continue
        fact = facts[link.link, name]
        phrase = link.phrase.format(x=world.mention(kind, i))
        yield Asked(
            _pick(rng, fact.asked).format(x=phrase),
            world.value(*middle, fact),
            "bridge",
            (world.title(kind, i), world.title(*middle)),
            (_query(world, (kind, i), link), _bridge_query(world, middle, link, fact)),
        )


def _bridge_query(world: World, middle: Thing, link: Fact, fact: Fact) -> str:
    """The second search uses what the first paragraph told: a name, and the kind or occupation that follows."""
    label = world.labels[middle[0]][middle[1]]
    role = world.occupation(middle[1]) if link.role >= 0 else middle[0]
    return f"{label} {role} {fact.keyword}"


def _comparison(world: World, rng: random.Random, hard: bool) -> Iterator[Asked]:
    """Half choices, half yes/no with yes as often as no; gives up after many draws in a row that were seen or unfit."""
    draw = rng.random
    choices = [(kind, fact) for kind, facts in FACTS.items() for fact in facts if fact.more]
    yes_nos = [(kind, fact) for kind, facts in FACTS.items() for fact in facts if fact.same]
    if hard:
        choices, yes_nos = ([slot for slot in slots if any(world.shared[slot[0]])] for slots in (choices, yes_nos))
    firsts = {kind: [i for i, shared in enumerate(world.shared[kind]) if bool(shared) == hard] for kind in FACTS}
    seconds = {kind: range(len(world.labels[kind])) if hard else firsts[kind] for kind in FACTS}
    groups = {(kind, fact.name): _grouped(world, kind, fact, seconds[kind]) for kind, fact in yes_nos}
    seen: set[tuple[str, str, int, int]] = set()
    misses = 0
    while misses < _PATIENCE and choices and yes_nos:
        misses += 1
        want = _WANTS[int(draw() * len(_WANTS))]
        slots = choices if want == "choice" else yes_nos
        kind, fact = slots[int(draw() * len(slots))]
        if not firsts[kind]:
            continue
        a = firsts[kind][int(draw() * len(firsts[kind]))]
        pool = groups[kind, fact.name][world.columns[kind, fact.name][a]] if want == "yes" else seconds[kind]
        b = pool[int(draw() * len(pool))]
        key = (kind, fact.name, min(a, b), max(a, b))
        if key in seen or not _comparable(world, kind, fact, a, b, want == "yes"):
            continue
        seen.add(key)
        misses = 0
        yield _compared(world, rng, kind, fact, (a, b) if draw() < 0.5 else (b, a))


def _grouped(world: World, kind: str, fact: Fact, things: Sequence[int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for i in things:
        groups.setdefault(world.columns[kind, fact.name][i], []).append(i)
    return groups


def _comparable(world: World, kind: str, fact: Fact, a: int, b: int, agree: bool) -> bool:
    """Different names, neither inside the other, and values that agree or differ as wanted."""
    one, other = world.labels[kind][a], world.labels[kind][b]
    if a == b or one in other or other in one:
        return False
    column = world.columns[kind, fact.name]
    return (column[a] == column[b]) == agree


def _compared(world: World, rng: random.Random, kind: str, fact: Fact, pair: tuple[int, int]) -> Asked:
    a, b = pair
    column = world.columns[kind, fact.name]
    names = [world.mention(kind, i) if kind == "person" else world.labels[kind][i] for i in pair]
    question = _pick(rng, fact.more or fact.same).format(a=names[0], b=names[1])
    if fact.more:
        answer = world.labels[kind][a if (column[a] > column[b]) == fact.highest else b]
    else:
        answer = "yes" if column[a] == column[b] else "no"
    titles = (world.title(kind, a), world.title(kind, b))
    return Asked(
        question, answer, "comparison", titles, (_query(world, (kind, a), fact), _query(world, (kind, b), fact))
    )
