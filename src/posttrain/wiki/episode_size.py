"""What an episode takes before one has run, from the texts that the harness will show and how many of them."""

import itertools
from pathlib import Path
from statistics import fmean
from typing import Any

from posttrain.files import read_jsonl
from posttrain.ledger.price import Tokens

TURNS, REPLY = 3, 27
"""An episode of the recipe: two searches and an answer, about 80 tokens in all."""
QUESTION, RESULTS, CLOSED_REPLY = 50, 20, 30
"""Tokens: a question and the template's marks around prompt and question; marks and tags around results; an answer."""
CHARACTERS, WORDS = 4.14, 0.67
"""Of English per token: 3,000 paragraphs of HotpotQA under Qwen3.5's tokenizer."""
PARAGRAPH = 142
"""Tokens of one of them with its title, until prep has made the corpus."""
SHOWN = 0.81
"""Length of a paragraph that a search brings, over the mean: BM25 prefers short ones (11,200 results on HotpotQA)."""
CORPUS, LOOKED_AT = Path("data/prep/corpus.jsonl"), 2000


def episode(params: dict[str, Any], root: Path, share: int = 1) -> Tokens:
    """Sampling one episode; its first prompt is read once for every `share` of them, as attempts are drawn together."""
    first, results = _first(root, "research"), _results(params["harness"], root)
    later = (TURNS - 1) * first + (REPLY + results) * sum(range(1, TURNS))
    return Tokens(prefill=round(first / share + later), sampled=TURNS * REPLY)


def closed_book(root: Path) -> Tokens:
    """Sampling one answer from memory."""
    return Tokens(prefill=round(_first(root, "closed_book")), sampled=CLOSED_REPLY)


def example(params: dict[str, Any], root: Path) -> Tokens:
    """One pass over one episode: every token that it ends with."""
    results = (TURNS - 1) * _results(params["harness"], root)
    return Tokens(trained=round(_first(root, "research") + results + TURNS * REPLY))


def _first(root: Path, prompt: str) -> float:
    path = root / "prompts" / f"{prompt}.md"
    return QUESTION + (len(path.read_text()) / CHARACTERS if path.is_file() else 0)


def _results(harness: dict[str, Any], root: Path) -> float:
    words = harness["passage_words"]
    longest = float("inf") if words is None else words / WORDS
    return RESULTS + float(harness["top_k"]) * min(SHOWN * _paragraph(root / CORPUS), longest)


def _paragraph(corpus: Path) -> float:
    if not corpus.is_file():
        return PARAGRAPH
    rows = itertools.islice(read_jsonl(corpus), LOOKED_AT)
    return fmean([(len(row["title"]) + len(row["text"]) + 4) / CHARACTERS for row in rows] or [PARAGRAPH])
