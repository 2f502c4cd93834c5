"""A stand-in for the 507,494 HotpotQA paragraphs, so that search can be measured at their size without a download.

Word frequencies and paragraph lengths are those of the 23,487 real paragraphs in ../shared/data/hotpot when they are
present, else Zipf's law; invented words fill the tail, so that the vocabulary keeps growing as Wikipedia's does.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from posttrain.files import read_jsonl, write_jsonl

HOTPOT = Path(__file__).resolve().parents[2] / "shared" / "data" / "hotpot"

_TAIL_WORDS, _TAIL_SHARE, _TAIL_EXPONENT = 1_000_000, 0.03, 0.8
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "el")]


def _invented(number: int) -> str:
    """A pronounceable word of at least four syllables, different for each number."""
    syllables = []
    number += len(_SYLLABLES) ** 3
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    return "".join(syllables)


def _head() -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Frequent words, their weights, and paragraph lengths to draw from."""
    source = HOTPOT / "corpus_hotpot.jsonl"
    if source.exists():
        texts = [row["text"].lower() for row in read_jsonl(source)]
        counts = Counter(word for text in texts for word in re.findall(r"\w+", text))
        lengths = np.array([max(1, len(text.split())) for text in texts])
        return list(counts), np.array(list(counts.values()), float), lengths
    words = [*STOPWORDS_EN, *(_invented(_TAIL_WORDS + n) for n in range(100_000))]
    weights = (np.arange(len(words)) + 2.7) ** -1.07
    return words, weights, np.random.default_rng(0).gamma(4.0, 22.0, 20_000).astype(np.int64) + 5


def write_corpus(path: Path, paragraphs: int, seed: int = 0) -> None:
    """Writes `{id, title, text}` rows; the same file for the same arguments and source."""
    rng = np.random.default_rng(seed)
    words, weights, lengths = _head()
    tail = (np.arange(_TAIL_WORDS) + 50.0) ** -_TAIL_EXPONENT
    cumulative = np.cumsum(np.r_[weights / weights.sum() * (1 - _TAIL_SHARE), tail / tail.sum() * _TAIL_SHARE])
    names = np.array([*words, *map(_invented, range(_TAIL_WORDS))], dtype=object)

    def rows() -> Iterator[dict[str, Any]]:
        for start in range(0, paragraphs, 5_000):
            size_B = rng.choice(lengths, min(5_000, paragraphs - start)) + 2
            drawn = np.searchsorted(cumulative, rng.random(size_B.sum()) * cumulative[-1])
            for row, chosen in enumerate(np.split(names[drawn], np.cumsum(size_B)[:-1])):
                title = " ".join(chosen[:2]).title()
                yield {"id": start + row, "title": title, "text": " ".join(chosen[2:]) + "."}

    write_jsonl(path, rows())


def questions(corpus: Path, count: int, seed: int = 1) -> list[str]:
    """Real questions when present, else some words of a paragraph each."""
    rng = np.random.default_rng(seed)
    source = HOTPOT / "dev_full_7405.jsonl"
    if source.exists():
        real = [row["question"] for row in read_jsonl(source)]
        return [real[i] for i in rng.permutation(len(real))[:count]]
    with corpus.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"].split() for _, line in zip(range(count), lines, strict=False)]
    return [" ".join(rng.choice(text, min(16, len(text)), replace=False)) for text in texts]
