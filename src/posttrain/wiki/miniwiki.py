"""A generated Wikipedia of any size with questions: offline, free of licences, and nobody can know its answers."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from posttrain.errors import SettingsError
from posttrain.wiki.data_settings import LEVELS, check_world
from posttrain.wiki.miniwiki_questions import Asked, questions
from posttrain.wiki.miniwiki_world import SHARES, World, build_world
from posttrain.wiki.rows import Paragraph, Row, Source, Split


@dataclass(frozen=True)
class MiniwikiSettings:
    """Paragraphs (60 to 500,000), questions by split, and the shares of the levels easy, medium and hard."""

    paragraphs: int
    train: int
    val: int
    test: int
    seed: int
    levels: dict[str, float]


def generate(settings: MiniwikiSettings) -> Source:
    """Makes the world; paragraphs and rows are then made as they are asked for, equal bytes in every process.

    Raises:
        SettingsError: sizes or shares are out of range; while rows are made, the world has too few questions.
    """
    check_world(settings.paragraphs, settings.levels)
    world = build_world(settings.paragraphs, settings.seed)
    return Source(rows=lambda split: _rows(settings, world, split), corpus=lambda: paragraphs(world))


def paragraphs(world: World) -> Iterator[Paragraph]:
    """Yields each thing's title and text, the kinds mixed."""
    rng = random.Random(f"miniwiki text {world.seed}")
    things = [(kind, i) for kind in SHARES for i in range(len(world.labels[kind]))]
    rng.shuffle(things)
    for kind, i in things:
        yield world.title(kind, i), world.text(kind, i, rng)


def _rows(settings: MiniwikiSettings, world: World, split: Split) -> Iterator[Row]:
    """Dev rows come off the streams of questions first and train rows after, so that no question is in both."""
    streams = {level: questions(world, level) for level in LEVELS}
    held_out = settings.val + settings.test
    dev = list(_take(settings, streams, 0, held_out))
    return iter(dev) if split == "dev" else _take(settings, streams, held_out, settings.train)


def _take(settings: MiniwikiSettings, streams: dict[str, Iterator[Asked]], start: int, count: int) -> Iterator[Row]:
    number = start
    for level, wanted in _by_level(count, settings.levels).items():
        for done in range(wanted):
            asked = next(streams[level], None)
            if asked is None:
                raise SettingsError(
                    f"data.paragraphs {settings.paragraphs} is too few: its world has {wanted - done} {level} "
                    f"questions less than asked for; raise data.paragraphs, or lower data.train or data.levels.{level}"
                )
            yield Row(
                id=f"mini-{number:06d}",
                question=asked.question,
                answers=(asked.answer,),
                type=asked.type,
                level=level,
                titles=asked.titles,
                queries=asked.queries,
            )
            number += 1


def _by_level(count: int, levels: dict[str, float]) -> dict[str, int]:
    """Whole numbers that sum to count and are nearest to the shares; remainders go to the largest fraction."""
    exact = {level: count * levels.get(level, 0.0) for level in LEVELS}
    wanted = {level: int(value + 1e-9) for level, value in exact.items()}
    by_fraction = sorted(LEVELS, key=lambda level: wanted[level] - exact[level])
    for level in by_fraction[: count - sum(wanted.values())]:
        wanted[level] += 1
    return wanted
