"""A stand-in for HotpotQA's distractor split at its real size, so that prep can be measured without a download.

Paragraphs are those of search_corpus.py under distinct titles, ten to a question, each title used at least once. The
dev questions are the real 7,405 when ../shared/data/hotpot is present, so that the split hash holds, else invented.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from search_corpus import HOTPOT, write_corpus

from posttrain.files import read_jsonl
from tests.wiki.hotpot_records import hub_schema

Record = dict[str, Any]

_CONTEXT, _SENTENCE_WORDS, _QUESTION_WORDS = 10, 22, 17
_GROUP = 1_000
"""Rows of a row group on the hub; the user's own file is one single group, the worst case for a reader."""


FORMATS = ("jsonl", "json", "parquet", "hub")


def write_standin(folder: Path, train: int, dev: int, paragraphs: int, formats: tuple[str, ...] = FORMATS) -> None:
    """Writes both splits as JSON Lines, official JSON and parquet, and the hub's layout under `folder`/hub."""
    corpus = folder / "paragraphs.jsonl"
    write_corpus(corpus, paragraphs)
    pool = _paragraphs(corpus)
    corpus.unlink()
    rng = np.random.default_rng(0)
    count = (train + dev) * _CONTEXT
    rounds = [rng.permutation(len(pool)) for _ in range(-(-count // len(pool)))]
    chosen = np.concatenate(rounds)[:count].reshape(train + dev, _CONTEXT)
    (folder / "hub" / "distractor").mkdir(parents=True)
    _write_split(folder, "train", _records(pool, chosen[:train], [], "7a"), 2, train)
    _write_split(folder, "dev", _records(pool, chosen[train:], _real_dev(dev), "7d"), 1, dev)
    for unwanted in set(FORMATS) - set(formats):
        for path in folder.glob(f"*.{unwanted}"):
            path.unlink()
        shutil.rmtree(folder / unwanted, ignore_errors=True)


def _paragraphs(corpus: Path) -> list[tuple[str, list[str]]]:
    """Title and sentences, which joined give the text; a title that comes twice gets its number."""
    found: dict[str, list[str]] = {}
    for row in read_jsonl(corpus):
        words = row["text"].split(" ")
        starts = range(0, len(words), _SENTENCE_WORDS)
        parts = [" ".join(words[start : start + _SENTENCE_WORDS]) for start in starts]
        title = row["title"] if row["title"] not in found else f"{row['title']} {row['id']}"
        found[title] = [parts[0], *(f" {part}" for part in parts[1:])]
    return list(found.items())


def _real_dev(count: int) -> list[Record]:
    source = HOTPOT / "dev_full_7405.jsonl"
    return list(read_jsonl(source))[:count] if source.exists() else []


def _records(pool: list[tuple[str, list[str]]], chosen: Any, real: list[Record], prefix: str) -> Iterator[Record]:
    for number, indices in enumerate(chosen.tolist()):
        titles, sentences = zip(*(pool[i] for i in indices), strict=True)
        words = "".join(sentences[2]).split()
        question = " ".join([*words[:_QUESTION_WORDS], f"{number}?"])
        record: Record = {
            "id": f"{prefix}{number:022x}",
            "question": question,
            "answer": " ".join(words[:2]),
            "type": "bridge" if number % 5 else "comparison",
            "level": "hard" if number % 3 else "medium",
        }
        if number < len(real):
            known = real[number]
            record = {**known, "answer": known["answers"][0]}
            del record["answers"]
        record["supporting_facts"] = {"title": [titles[0], titles[0], titles[1]], "sent_id": [0, 1, 0]}
        record["context"] = {"title": list(titles), "sentences": list(sentences)}
        yield record


def _official(record: Record) -> Record:
    context, facts = record["context"], record["supporting_facts"]
    return {
        "_id": record["id"],
        **{name: record[name] for name in ("question", "answer", "type", "level")},
        "supporting_facts": list(zip(facts["title"], facts["sent_id"], strict=True)),
        "context": list(zip(context["title"], context["sentences"], strict=True)),
    }


def _write_split(folder: Path, name: str, records: Iterator[Record], shards: int, count: int) -> None:
    hub_name = {"train": "train", "dev": "validation"}[name]
    schema, tables = hub_schema(), []
    with (folder / f"{name}.jsonl").open("w") as lines, (folder / f"{name}.json").open("w") as array:
        array.write("[")
        done = 0
        while batch := [record for _, record in zip(range(_GROUP), records, strict=False)]:
            lines.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in batch)
            array.write(("," if done else "") + json.dumps([_official(record) for record in batch])[1:-1])
            tables.append(pyarrow.Table.from_pylist(batch, schema=schema))
            done += len(batch)
        array.write("]")
    whole = pyarrow.concat_tables(tables)
    pyarrow.parquet.write_table(whole, folder / f"{name}.parquet", row_group_size=count)
    per_shard = -(-count // shards)
    for shard in range(shards):
        file = folder / "hub" / "distractor" / f"{hub_name}-{shard:05d}-of-{shards:05d}.parquet"
        pyarrow.parquet.write_table(whole.slice(shard * per_shard, per_shard), file, row_group_size=_GROUP)
