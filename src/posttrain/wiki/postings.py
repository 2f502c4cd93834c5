"""One shard of the corpus to counted postings: the part of the index build that runs in several processes."""

import json
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posttrain.wiki.tokenize import english_stemmer, words

BATCH_TOKENS = 1 << 20
"""Tokens held before they are sorted, counted and written out; bounds a worker's memory."""

_STOPPED = 0
"""The id of every stop word in a batch; real words count from 1."""


@dataclass(frozen=True)
class Shard:
    """The bytes `[start, end)` of a corpus, beginning and ending at line ends, and where its postings go."""

    corpus: Path
    start: int
    end: int
    spill: Path


@dataclass(frozen=True)
class Counted:
    """What one shard holds. The spill file has `batches` pairs of arrays: sorted keys and term frequencies.

    A key is `stem << 32 | document`, both counted within the shard; it occurs once per batch and a document lies in
    one batch. `stems` maps local stem numbers to stems, `document_frequency` is parallel to it. `lengths` are tokens
    per document without stop words, `offsets` the byte where each document's line starts in the corpus.
    """

    first_id: int | None
    lines: int
    lengths: NDArray[np.int32]
    offsets: NDArray[np.int64]
    stems: list[str]
    document_frequency: NDArray[np.int64]
    batches: int


@dataclass(frozen=True)
class Malformed:
    """The first line of a shard, counted from 1, that is not a row of the corpus, and why."""

    line: int
    reason: str


class _Surfaces(dict[str, int]):
    """Word to number; unseen words get the next one and are remembered until they are stemmed."""

    def __init__(self, stop_words: frozenset[str]) -> None:
        super().__init__(dict.fromkeys(stop_words, _STOPPED))
        self.unstemmed: list[str] = []
        self._next = _STOPPED + 1

    def __missing__(self, word: str) -> int:
        number = self[word] = self._next
        self._next += 1
        self.unstemmed.append(word)
        return number


class _Counter:
    """Collects documents, and writes a batch of sorted postings whenever enough tokens have come together."""

    def __init__(self, stop_words: frozenset[str], out: IO[bytes]) -> None:
        self.stems: dict[str, int] = {}
        self.batches = 0
        self._out = out
        self._surfaces = _Surfaces(stop_words)
        self._stemmer = english_stemmer()
        self._stem_of: NDArray[np.int64] = np.zeros(1, np.int64)
        self._frequency: NDArray[np.int64] = np.zeros(0, np.int64)
        self._lengths: list[NDArray[np.int32]] = []
        self._documents = 0
        self._tokens = array("i")
        self._ends: list[int] = []

    def add(self, text: str) -> None:
        self._tokens.extend(map(self._surfaces.__getitem__, words(text)))
        self._ends.append(len(self._tokens))
        if len(self._tokens) >= BATCH_TOKENS:
            self._flush()

    def finish(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Writes what is left and returns the length of each document and the document frequency of each stem."""
        self._flush()
        return np.concatenate([np.zeros(0, np.int32), *self._lengths]), self._frequency

    def _flush(self) -> None:
        if not self._ends:
            return
        stem_of = self._stem_new_words()
        surface_T = np.frombuffer(self._tokens, dtype=np.int32)
        document_T = np.repeat(np.arange(len(self._ends)), np.diff(self._ends, prepend=0))
        kept_T = surface_T != _STOPPED
        document_T = document_T[kept_T]
        self._lengths.append(np.bincount(document_T, minlength=len(self._ends)).astype(np.int32))
        keys_T = stem_of[surface_T[kept_T]] << 32 | (document_T + self._documents)
        keys_T.sort()
        first = np.flatnonzero(np.diff(keys_T, prepend=-1))
        keys = keys_T[first]
        self._frequency = np.pad(self._frequency, (0, len(self.stems) - len(self._frequency)))
        self._frequency += np.bincount(keys >> 32, minlength=len(self.stems))
        np.save(self._out, keys)
        np.save(self._out, np.diff(first, append=len(keys_T)).astype(np.int32))
        self.batches += 1
        self._documents += len(self._ends)
        self._tokens, self._ends = array("i"), []

    def _stem_new_words(self) -> NDArray[np.int64]:
        stemmed = self._stemmer.stemWords(self._surfaces.unstemmed)
        new = [self.stems.setdefault(stem, len(self.stems)) for stem in stemmed]
        self._surfaces.unstemmed = []
        self._stem_of = np.concatenate([self._stem_of, np.array(new, np.int64)])
        return self._stem_of


def count_shard(shard: Shard, stop_words: frozenset[str]) -> Counted | Malformed:
    """Tokenizes, stems and counts a shard; never raises for a bad row, since only the parent knows its line number."""
    offsets = array("q")
    first_id: int | None = None
    line_number, position = 0, shard.start
    with shard.corpus.open("rb") as corpus, shard.spill.open("wb") as out:
        counter = _Counter(stop_words, out)
        corpus.seek(shard.start)
        while position < shard.end:
            line = corpus.readline()
            if not line:
                break
            line_number += 1
            if line.strip():
                row = _parse(line)
                expected = None if first_id is None else first_id + len(offsets)
                reason = row if isinstance(row, str) else _fault(row, expected)
                if reason or isinstance(row, str):
                    return Malformed(line_number, reason)
                first_id = row["id"] if first_id is None else first_id
                offsets.append(position)
                counter.add(f"{row['title']}. {row['text']}")
            position += len(line)
        lengths, frequency = counter.finish()
    starts = np.array(offsets, dtype=np.int64)
    return Counted(first_id, line_number, lengths, starts, list(counter.stems), frequency, counter.batches)


def _parse(line: bytes) -> dict[str, Any] | str:
    """The row, or why it is none."""
    try:
        row = json.loads(line.decode("utf-8"))
    except ValueError as error:
        return f"not valid JSON in UTF-8: {error}"
    return row if isinstance(row, dict) else f"expected a JSON object, found {type(row).__name__}"


def _fault(row: dict[str, Any], expected_id: int | None) -> str:
    """Why the row cannot be indexed; empty when it can."""
    for name in ("title", "text"):
        if not isinstance(row.get(name), str):
            return f"{name!r} must be text, found {row.get(name)!r:.80}"
    number = row.get("id")
    if type(number) is not int or (expected_id is not None and number != expected_id):
        wanted = "a whole number" if expected_id is None else str(expected_id)
        return f"'id' must be {wanted}, because ids count the rows from 0; found {number!r:.80}"
    return ""
