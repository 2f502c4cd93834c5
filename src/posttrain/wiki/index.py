"""Builds the BM25 index of a paragraph corpus, in bm25s's format, streaming and in several processes.

Scores are those of bm25s's method "lucene" to the last bit: `idf * tf / (k1 * (1 - b + b * length / mean) + tf)` with
`idf = ln(1 + (N - df + 0.5) / (df + 0.5))`; variants in Kamphuis et al., "Which BM25 do you mean?", ECIR 2020, table 1.
The vocabulary is sorted, so the bytes depend on corpus and settings alone.
"""

import itertools
import json
import math
import multiprocessing
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from posttrain.errors import DataError, PosttrainError, SettingsError
from posttrain.wiki import index_files
from posttrain.wiki.index_settings import IndexSettings
from posttrain.wiki.postings import Counted, Malformed, Shard, count_shard

SHARD_BYTES = 4 << 20
"""Below this much text per worker, starting another process costs more than it saves."""


def build(corpus: Path, out: Path, settings: IndexSettings, workers: int = 2) -> dict[str, int | float]:
    """Writes the index of `corpus` to the directory `out` and returns its counts.

    The corpus is JSON Lines, `{id, title, text}`, ids counting from 0. `out` is replaced whole or not at all.

    Raises:
        SettingsError: a setting is out of range, or workers is below 1.
        DataError: the corpus is missing, empty, without a word to index, or malformed (named by its line).
        StoreError: the disk is full or not writable.
    """
    settings.check()
    if workers < 1:
        raise SettingsError(f"the index is built by at least 1 worker, found {workers}")
    with index_files.replacing_directory(out) as directory:
        # Inside the new directory, so that it needs no other disk and goes away with it.
        with tempfile.TemporaryDirectory(dir=directory, prefix=".spill.") as spill:
            shards = _split(corpus, Path(spill), workers)
            counted = _count(corpus, shards)
            metrics = _write(directory, shards, counted, settings)
        index_files.write_manifest(directory, out, corpus, list(STOPWORDS_EN))
        size = sum(written.stat().st_size for written in directory.iterdir())
    return {**metrics, "bytes": size}


def _split(corpus: Path, spill: Path, workers: int) -> list[Shard]:
    """Cuts the corpus at line ends into at most one shard per worker."""
    try:
        size = corpus.stat().st_size
        with corpus.open("rb") as data:
            count = min(workers, 1 + size // SHARD_BYTES)
            cuts = [0]
            for part in range(1, count):
                data.seek(size * part // count)
                data.readline()
                cuts.append(max(cuts[-1], data.tell()))
    except OSError as error:
        raise DataError(f"cannot read the corpus {corpus}: {error.strerror}; run `dvc repro prep`") from error
    cuts.append(size)
    return [Shard(corpus, a, b, spill / f"{n}.npy") for n, (a, b) in enumerate(itertools.pairwise(cuts))]


def _count(corpus: Path, shards: list[Shard]) -> list[Counted]:
    """Counts all shards, one process each, and checks that their rows follow one another."""
    stop_words = itertools.repeat(frozenset(STOPWORDS_EN), len(shards))
    if len(shards) == 1:
        outcomes = [count_shard(*pair) for pair in zip(shards, stop_words, strict=True)]
    else:
        # Spawned, not forked: the caller may hold threads, and a fork copies their locks.
        context = multiprocessing.get_context("spawn")
        try:
            with ProcessPoolExecutor(len(shards), mp_context=context) as pool:
                outcomes = list(pool.map(count_shard, shards, stop_words))
        except BrokenProcessPool as error:
            raise PosttrainError(
                "a process of the index build was killed, most likely for memory; run `dvc repro index` "
                "with more free memory or with workers=1"
            ) from error
    counted: list[Counted] = []
    documents = lines = 0
    for outcome in outcomes:
        if isinstance(outcome, Malformed):
            raise DataError(f"{corpus}:{lines + outcome.line}: {outcome.reason}; run `dvc repro prep`")
        if outcome.first_id not in (documents, None):
            raise DataError(
                f"{corpus}: the row after {lines} lines has id {outcome.first_id}, expected {documents}, "
                "because ids count the rows from 0; run `dvc repro prep`"
            )
        documents += len(outcome.lengths)
        lines += outcome.lines
        counted.append(outcome)
    if not documents:
        raise DataError(f"the corpus {corpus} is empty, so there is nothing to search; run `dvc repro prep`")
    if not any(part.stems for part in counted):
        raise DataError(f"the corpus {corpus} holds no word that can be indexed; run `dvc repro prep`")
    return counted


def _write(
    directory: Path, shards: list[Shard], counted: list[Counted], settings: IndexSettings
) -> dict[str, int | float]:
    """Merges the shards' postings into score columns by stem and writes bm25s's files and the offsets."""
    vocabulary = sorted(set().union(*(part.stems for part in counted)))
    number = {stem: position for position, stem in enumerate(vocabulary)}
    global_of = [np.array([number[stem] for stem in part.stems], np.int64) for part in counted]
    frequency = np.zeros(len(vocabulary), np.int64)
    for part, stems in zip(counted, global_of, strict=True):
        frequency[stems] += part.document_frequency
    lengths = np.concatenate([part.lengths for part in counted])
    # The empty token is bm25s's stand-in for a query without known words; here it has a column, and nothing in it.
    number[""] = len(vocabulary)
    indptr = np.zeros(len(number) + 1, np.int64)
    np.cumsum(frequency, out=indptr[1:-1])
    indptr[-1] = indptr[-2]

    k1, b = float(settings.k1), float(settings.b)
    saturation = k1 * ((1 - b) + b * lengths / lengths.mean())
    data, indices = _score_columns(shards, counted, global_of, indptr, _idf(frequency, len(lengths)), saturation)
    np.save(directory / index_files.DATA, data)
    np.save(directory / index_files.INDICES, indices)
    np.save(directory / index_files.INDPTR, indptr)
    np.save(directory / index_files.OFFSETS, np.concatenate([part.offsets for part in counted]))
    _write_json(directory / index_files.VOCABULARY, number)
    _write_json(directory / index_files.PARAMETERS, _parameters(k1, b, len(lengths)))
    return {
        "documents": len(lengths),
        "stems": len(vocabulary),
        "postings": len(data),
        "mean_length": round(float(lengths.mean()), 3),
    }


def _score_columns(
    shards: Sequence[Shard],
    counted: Sequence[Counted],
    global_of: Sequence[NDArray[np.int64]],
    indptr: NDArray[np.int64],
    idf: NDArray[np.float32],
    saturation: NDArray[np.float64],
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Scatters each batch of postings to the next free places of its columns; batches come in document order."""
    data = np.empty(indptr[-1], np.float32)
    indices = np.empty(indptr[-1], np.int32)
    free = indptr.copy()
    base = 0
    for shard, part, stems in zip(shards, counted, global_of, strict=True):
        with shard.spill.open("rb") as spilled:
            for _ in range(part.batches):
                keys, tf = np.load(spilled), np.load(spilled)
                column = stems[keys >> 32]
                document = (keys & 0xFFFFFFFF) + base
                first = np.flatnonzero(np.diff(column, prepend=-1))
                run = np.diff(first, append=len(column))
                place = np.arange(len(column)) + np.repeat(free[column[first]] - first, run)
                free[column[first]] += run
                # In float64, rounded once: the very arithmetic of bm25s under numpy 2.
                data[place] = idf[column] * (tf / (saturation[document] + tf))
                indices[place] = document
        base += len(part.lengths)
    return data, indices


def _idf(frequency: NDArray[np.int64], documents: int) -> NDArray[np.float32]:
    """Lucene's idf per stem. Through `math.log`, because numpy's own differs in the last bit between CPUs."""
    distinct, position = np.unique(frequency, return_inverse=True)
    values = [math.log(1 + (documents - df + 0.5) / (df + 0.5)) for df in distinct.tolist()]
    return np.array(values, np.float32)[position]


def _parameters(k1: float, b: float, documents: int) -> dict[str, Any]:
    """The arguments that `bm25s.BM25.load` passes to its constructor, in the order in which bm25s writes them."""
    return {
        "k1": k1,
        "b": b,
        "delta": 0.5,
        "method": "lucene",
        "idf_method": "lucene",
        "dtype": "float32",
        "int_dtype": "int32",
        "num_docs": documents,
        "version": bm25s.__version__,
        "backend": "numpy",
    }


def _write_json(path: Path, value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text, encoding="utf-8", newline="\n")
