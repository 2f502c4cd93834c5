import json
from pathlib import Path

import pytest

from posttrain.errors import DataError, SettingsError
from posttrain.files import read_jsonl
from posttrain.wiki.index import build
from posttrain.wiki.recall import recall_at_k
from posttrain.wiki.search import Searcher
from tests.wiki.corpora import HOTPOT, PARAGRAPHS, SETTINGS, built


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return Searcher(built(tmp_path_factory.mktemp("pipeline"), PARAGRAPHS))


def test_is_the_mean_share_of_gold_titles_in_the_top_k(searcher: Searcher) -> None:
    questions = ["English mathematician Ada", "city", "zyzzyva"]
    gold = [["Charles Babbage", "Ada Lovelace", "Ada Lovelace"], ["Turin", "Café Müller"], ["Turin"]]
    found = recall_at_k(searcher, questions, gold, [1, 2])
    assert found == pytest.approx({"recall@1": (0.5 + 0.5 + 0) / 3, "recall@2": (1 + 0.5 + 0) / 3})


@pytest.mark.parametrize(
    ("questions", "gold"), [([], []), (["city"], []), (["city"], [[]]), (["city"], [["Turin"], ["Turin"]])]
)
def test_questions_without_gold_titles_are_refused(
    searcher: Searcher, questions: list[str], gold: list[list[str]]
) -> None:
    with pytest.raises(DataError):
        recall_at_k(searcher, questions, gold, [1])


@pytest.mark.parametrize("ks", [[], [0], [3, -1]])
def test_impossible_cut_offs_are_refused(searcher: Searcher, ks: list[int]) -> None:
    with pytest.raises(SettingsError):
        recall_at_k(searcher, ["city"], [["Turin"]], ks)


@pytest.mark.skipif(not HOTPOT.exists(), reason="the HotpotQA fragments of ../shared are not here")
def test_recall_on_real_paragraphs_is_what_was_measured_for_bm25s(tmp_path: Path) -> None:
    metrics = build(HOTPOT / "corpus_hotpot.jsonl", tmp_path / "index", SETTINGS)
    assert metrics["documents"] == 23_487
    rows = list(read_jsonl(HOTPOT / "hotpot_distractor.jsonl"))
    gold = [row["supporting_facts"]["title"] for row in rows]
    found = recall_at_k(Searcher(tmp_path / "index"), [row["question"] for row in rows], gold, [3, 10])
    assert {name: round(value, 3) for name, value in found.items()} == {"recall@3": 0.642, "recall@10": 0.831}


@pytest.mark.skipif(not HOTPOT.exists(), reason="the HotpotQA fragments of ../shared are not here")
def test_real_titles_come_back_as_they_are(tmp_path: Path) -> None:
    lines = (HOTPOT / "corpus_hotpot.jsonl").read_text(encoding="utf-8").splitlines()[:2_000]
    rows = [json.loads(line) for line in lines]
    searcher = Searcher(built(tmp_path, [(row["title"], row["text"]) for row in rows]))
    for row in rows[::97]:
        assert row["title"] in [hit["title"] for hit in searcher.search(f"{row['title']} {row['text']}", 1)]
