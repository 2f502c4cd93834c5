"""Writes train, val, test, corpus and gold as JSON Lines from any source: all five files, or none."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.files import json_line, replacing, sha256_file
from posttrain.progress import Progress
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.rows import Paragraph, Row, Source, Split, same_question_key
from posttrain.wiki.sources import open_source

NAMES = ("train", "val", "test", "corpus", "gold")
HOTPOT_TEST_SHA256 = "cb4ad042f2c0ef38"
"""First 16 hex digits of the SHA-256 of test.jsonl that makes results on HotpotQA comparable."""


@dataclass(frozen=True)
class Splits:
    """Rows of each split in the order in which they are written."""

    train: list[Row]
    val: list[Row]
    test: list[Row]

    def named(self) -> tuple[tuple[str, list[Row]], ...]:
        return (("train", self.train), ("val", self.val), ("test", self.test))


def prepare(settings: DataSettings, folder: Path, source: Source | None = None) -> dict[str, Any]:
    """Writes the five files into `folder` and returns counts, SHA-256, levels and types for the metrics file.

    Raises:
        SettingsError: the settings cannot be met.
        DataError: a row is malformed, a question or id comes twice, a gold title has no paragraph, or test.jsonl is
            not the recipe's; the folder is then as it was.
    """
    source = source or open_source(settings)
    with ExitStack() as stack:
        paths = {name: stack.enter_context(replacing(folder / f"{name}.jsonl")) for name in NAMES}
        corpus = _CorpusWriter(paths["corpus"])
        rows: dict[Split, list[Row]] = {"train": [], "dev": []}
        with corpus, Progress("prep", None, "rows") as progress:
            for split, found in rows.items():
                for row in _without_contexts(source.rows(split), corpus):
                    found.append(row)
                    progress.advance()
            if source.corpus is not None:
                corpus.add(source.corpus())
        if not corpus.titles:
            raise DataError("the source holds no paragraphs; rows need a context, or set data.corpus_file")
        splits = split_rows(rows["dev"], rows["train"], settings, source.pooled)
        repeated = _check_splits(splits, source.strict)
        _write(paths, splits)
        missing = _check_titles(splits, corpus.titles, source.strict)
        sha256 = {name: sha256_file(path) for name, path in paths.items()}
        if settings.source == "hotpotqa" and not sha256["test"].startswith(HOTPOT_TEST_SHA256):
            raise DataError(
                f"test.jsonl has SHA-256 {sha256['test'][:16]} and not {HOTPOT_TEST_SHA256}, so results would not be "
                "comparable; set data.revision to a commit of hotpotqa/hotpot_qa whose validation split is unchanged"
            )
    counts = {name: len(found) for name, found in splits.named()}
    counts |= {"corpus": len(corpus.titles), "gold": sum(counts.values())}
    return {
        "source": settings.source,
        "counts": counts,
        "sha256": sha256,
        "levels": {name: _tally(row.level for row in found) for name, found in splits.named()},
        "types": {name: _tally(row.type for row in found) for name, found in splits.named()},
        "repeated_questions": repeated,
        "gold_titles_without_paragraph": missing,
    }


def split_rows(dev: list[Row], train: list[Row], settings: DataSettings, pooled: bool = False) -> Splits:
    """The recipe's rule: one `random.Random(0)` shuffles dev, whose head is test and then val, and then train.

    Raises:
        DataError: there are fewer rows than `data.test`, `data.val` and `data.train` ask for.
    """
    rng = random.Random(0)
    dev = list(dev)
    rng.shuffle(dev)
    held_out = settings.test + settings.val
    train = dev[held_out:] if pooled else list(train)
    rng.shuffle(train)
    if len(dev) < held_out:
        raise DataError(f"the source has {len(dev)} dev rows; data.test and data.val ask for {held_out}; lower them")
    wanted = 1 if settings.train is None else settings.train
    if len(train) < wanted:
        raise DataError(f"the source has {len(train)} train rows; data.train asks for {wanted}; lower it")
    return Splits(train=train[: settings.train], val=dev[settings.test : held_out], test=dev[: settings.test])


def question_line(row: Row) -> str:
    """A question as train, val and test hold it: id, question, answers, type, level."""
    return json_line(
        {"id": row.id, "question": row.question, "answers": list(row.answers), "type": row.type, "level": row.level}
    )


@dataclass
class _CorpusWriter:
    """Writes paragraphs as they come, one per title, first seen wins."""

    path: Path
    titles: set[str] = field(default_factory=set)

    def __enter__(self) -> None:
        self.out = self.path.open("w", encoding="utf-8", newline="\n")

    def __exit__(self, *_: object) -> None:
        self.out.close()

    def add(self, paragraphs: Iterable[Paragraph]) -> None:
        for title, text in paragraphs:
            if title not in self.titles:
                self.out.write(json_line({"id": len(self.titles), "title": title, "text": text}))
                self.titles.add(title)


def _without_contexts(rows: Iterable[Row], corpus: _CorpusWriter) -> Iterator[Row]:
    """Passes rows on with their paragraphs written and let go: 90,000 contexts would not fit in memory."""
    for row in rows:
        corpus.add((title, "".join(sentences).strip()) for title, sentences in row.context)
        yield Row(row.id, row.question, row.answers, row.type, row.level, row.titles, row.queries, (), row.where)


def _check_splits(splits: Splits, strict: bool) -> int:
    """Refuses an id or question that comes twice; returns how many questions repeat inside a split where allowed."""
    ids: dict[str, str] = {}
    questions: dict[str, tuple[str, str]] = {}
    repeated = 0
    for name, rows in splits.named():
        for row in rows:
            place = f"{row.where}: " if row.where else ""
            if row.id in ids:
                raise DataError(f"{place}id {row.id!r} comes twice, in {ids[row.id]} and in {name}; remove one")
            ids[row.id] = name
            key = same_question_key(row.question)
            other, other_id = questions.setdefault(key, (name, row.id))
            if other_id == row.id:
                continue
            if strict or other != name:
                raise DataError(
                    f"{place}question {row.question!r} comes twice, as {other_id!r} in {other} and as {row.id!r} in "
                    f"{name}; remove one"
                )
            repeated += 1
    return repeated


def _check_titles(splits: Splits, titles: set[str], strict: bool) -> int:
    missing = 0
    for _, rows in splits.named():
        for row in rows:
            for title in row.titles:
                if title not in titles:
                    if strict:
                        place = f"{row.where}: " if row.where else ""
                        raise DataError(f"{place}gold title {title!r} of {row.id!r} has no paragraph; add it")
                    missing += 1
    return missing


def _write(paths: dict[str, Path], splits: Splits) -> None:
    with paths["gold"].open("w", encoding="utf-8", newline="\n") as gold:
        for name, rows in splits.named():
            with paths[name].open("w", encoding="utf-8", newline="\n") as out:
                for row in rows:
                    out.write(question_line(row))
                    queries = {"queries": list(row.queries)} if row.queries else {}
                    gold.write(json_line({"id": row.id, "titles": list(row.titles), **queries}))


def _tally(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
