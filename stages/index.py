"""The BM25 index of the corpus, and how much of the evidence the raw val questions find in it."""

from pathlib import Path

from posttrain import station
from posttrain.files import write_json
from posttrain.settings import load
from posttrain.wiki.index import build
from posttrain.wiki.index_settings import IndexSettings
from posttrain.wiki.questions import PREP, gold, questions
from posttrain.wiki.recall import recall_at_k
from posttrain.wiki.search import Searcher

CUTOFFS = (1, 3, 10)


def main() -> None:
    index = Path("data/index")
    metrics = build(PREP / "corpus.jsonl", index, load("index", IndexSettings))
    titles = gold()
    rows = [row for row in questions("val") if titles[row["id"]]["titles"]]
    recall = recall_at_k(
        Searcher(index), [row["question"] for row in rows], [titles[row["id"]]["titles"] for row in rows], CUTOFFS
    )
    write_json(Path("metrics/index.json"), {**metrics, "n": len(rows), **recall})


if __name__ == "__main__":
    station.run("index", main)
