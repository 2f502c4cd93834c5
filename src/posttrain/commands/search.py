"""`posttrain search`: what a query finds in the corpus."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posttrain.wiki.search import Hit

HELP = "what a query finds in the corpus, with scores"
DESCRIPTION = "Searches data/index as the policy's queries do."
EXAMPLE = """example:
  posttrain search "birthplace of Ada Holm" -k 3

It prints rank, BM25 score and title of each paragraph and how it begins, then how long it took to open the index and
to search. Exit code 0 when something is found, 1 when nothing is."""
SHOWN = 10
SNIPPET = 160
"""Characters of a paragraph that are shown."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("query", help="in quotes")
    parser.add_argument(
        "-k", type=positive, default=SHOWN, help=f"paragraphs to show; {SHOWN} if not given (the policy: harness.top_k)"
    )


def positive(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, is {text}")
    return int(text)


def run(chosen: argparse.Namespace) -> int:
    """Prints what is found; 1 if nothing is.

    Raises:
        PosttrainError: there is no project or no index here, or it is damaged.
    """
    from contextlib import chdir
    from time import perf_counter

    from posttrain.ledger.places import project_root
    from posttrain.terminal import say
    from posttrain.wiki.search import Searcher
    from posttrain.wiki.searching import INDEX

    with chdir(project_root()):
        start = perf_counter()
        searcher = Searcher(INDEX)
        opened = perf_counter()
        hits = searcher.search(chosen.query, chosen.k)
        searched = perf_counter()
        for line in found(hits) if hits else [f"nothing found: {why_nothing(chosen.query)}"]:
            say(line)
    load_ms, search_ms = (opened - start) * 1000, (searched - opened) * 1000
    say(f"{len(searcher):,} paragraphs; load {load_ms:.1f} ms, search {search_ms:.1f} ms")
    return 0 if hits else 1


def found(hits: list["Hit"]) -> list[str]:
    """Two lines a paragraph: rank, score and title, and how the text begins."""
    from posttrain.terminal import emphasized, harmless

    lines = []
    for rank, hit in enumerate(hits, 1):
        lines.append(f"{rank:>3}  {hit['score']:7.3f}  {emphasized(harmless(hit['title'], SNIPPET))}")
        lines.append(f"{'':14}{harmless(hit['text'], SNIPPET)}")
    return lines


def why_nothing(query: str) -> str:
    """Which of its words the index does not look at or does not have."""
    from posttrain.wiki.index_files import read_manifest
    from posttrain.wiki.searching import INDEX
    from posttrain.wiki.tokenize import words

    given = words(query)
    if not given:
        return "the query holds no word of two or more letters"
    if set(given) <= set(read_manifest(INDEX)["stop_words"]):
        return "the query holds only stop words, which match nothing"
    return "no paragraph holds any of its words, stop words aside"
