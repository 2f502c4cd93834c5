"""Search over an index on disk: arrays memory-mapped, paragraphs read from the corpus by line offset."""

import json
import os
import threading
import weakref
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from posttrain.errors import DataError, SettingsError
from posttrain.wiki import index_files
from posttrain.wiki.tokenize import QueryTokenizer
from posttrain.wiki.topk import padded, top_k


class Hit(TypedDict):
    """A paragraph found, with its BM25 score, which is above 0."""

    id: int
    title: str
    text: str
    score: float


class Searcher:
    """An index opened for reading; any number of threads may search at once."""

    def __init__(self, path: Path) -> None:
        """Opens the index directory `path` and its corpus.

        Raises:
            DataError: the index is missing or damaged, or its corpus was moved or changed.
        """
        self._path = path
        manifest = index_files.read_manifest(path)
        corpus = index_files.corpus_of(path, manifest)
        try:
            self._data = np.load(path / index_files.DATA, mmap_mode="r").view(np.ndarray)
            self._indices = np.load(path / index_files.INDICES, mmap_mode="r").view(np.ndarray)
            indptr: NDArray[np.int64] = np.load(path / index_files.INDPTR)
            offsets: NDArray[np.int64] = np.load(path / index_files.OFFSETS)
            vocabulary = (path / index_files.VOCABULARY).read_text(encoding="utf-8")
            self._column: dict[str, int] = json.loads(vocabulary)
            self._tokenizer = QueryTokenizer(manifest["stop_words"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise index_files.damaged(path, str(error)) from error
        if len(indptr) != len(self._column) + 1 or not indptr[-1] == len(self._data) == len(self._indices):
            raise index_files.damaged(path, "its arrays do not fit one another")
        self._indptr = indptr
        self._line_ends = np.append(offsets[1:], manifest["corpus"]["size"])
        self._line_starts = offsets
        self._corpus = corpus
        self._descriptor = os.open(corpus, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)
        self._local = threading.local()

    def __len__(self) -> int:
        """Number of paragraphs."""
        return len(self._line_starts)

    def search(self, query: str, k: int) -> list[Hit]:
        """The k best paragraphs for a query, best first, equal scores by id.

        Fewer when fewer hold a word of the query; none when it has only stop words and unknown words.

        Raises:
            SettingsError: k is below 1.
            DataError: the index or the corpus changed on disk after it was opened.
        """
        if k < 1:
            raise SettingsError(f"a search returns at least 1 paragraph, found k = {k}; set harness.top_k to 1 or more")
        columns = [self._column[stem] for stem in self._tokenizer.stems(query) if stem in self._column]
        if not columns:
            return []
        scores = self._score(columns)
        best = top_k(scores, min(k, len(self)))
        return [self._read(document, float(scores[document])) for document in best.tolist()]

    def _score(self, columns: list[int]) -> NDArray[np.float32]:
        """BM25 of every paragraph, in a buffer that belongs to this thread and is overwritten by its next search."""
        scores: NDArray[np.float32] | None = getattr(self._local, "scores", None)
        if scores is None:
            scores = self._local.scores = np.empty(padded(len(self)), np.float32)
        scores.fill(0)
        try:
            for column in columns:
                start, end = self._indptr[column], self._indptr[column + 1]
                np.add.at(scores, self._indices[start:end], self._data[start:end])
        except IndexError as error:
            raise index_files.damaged(self._path, str(error)) from error
        return scores

    def _read(self, document: int, score: float) -> Hit:
        start, end = int(self._line_starts[document]), int(self._line_ends[document])
        try:
            row = json.loads(os.pread(self._descriptor, end - start, start))
            if row["id"] != document:
                raise ValueError(f"found id {row['id']}")
            return Hit(id=document, title=row["title"], text=row["text"], score=score)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"paragraph {document} is no longer where {self._path} has it in {self._corpus}: {error}; "
                "run `dvc repro index`"
            ) from error
