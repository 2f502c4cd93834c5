import json
import shutil
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError, SettingsError
from posttrain.wiki.index import build
from posttrain.wiki.index_files import FILES, MANIFEST
from posttrain.wiki.search import Searcher
from tests.wiki.corpora import PARAGRAPHS, SETTINGS, built, titles

WORDS = ["alpha", "betas", "running", "the", "of", "naïve", "delta9", "x", "omega", "Rome"]
SENTENCE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("pipeline"), PARAGRAPHS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=40), st.lists(SENTENCE, min_size=1, max_size=5))
def test_top_three_are_those_of_bm25s_up_to_exact_ties(
    tmp_path_factory: pytest.TempPathFactory, paragraphs: list[tuple[str, str]], queries: list[str]
) -> None:
    paragraphs = [*paragraphs, ("Anchor", "alpha")]
    searcher = Searcher(built(tmp_path_factory.mktemp("pipeline"), paragraphs))
    stemmer = Stemmer.Stemmer("english")
    plain = bm25s.BM25(k1=1.5, b=0.75)
    texts = [f"{title}. {text}" for title, text in paragraphs]
    plain.index(bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False)
    for query in queries:
        [stems] = bm25s.tokenize(query, stemmer=stemmer, return_ids=False, show_progress=False)
        scores = plain.get_scores(stems) if stems else np.zeros(len(paragraphs), np.float32)
        expected = [n for n in np.lexsort((np.arange(len(scores)), -scores)).tolist() if scores[n] > 0][:3]
        hits = searcher.search(query, 3)
        assert [(hit["id"], hit["score"]) for hit in hits] == [(n, float(scores[n])) for n in expected]


def test_a_hit_holds_the_paragraph_as_it_is_in_the_corpus(index: Path) -> None:
    [hit] = Searcher(index).search("chocolate", 5)
    assert (hit["id"], hit["title"], hit["text"]) == (2, *PARAGRAPHS[2])
    assert hit["score"] > 0


def test_equal_scores_come_by_id(tmp_path: Path) -> None:
    searcher = Searcher(built(tmp_path, [("Same", "words"), ("Other", "thing"), ("Same", "words"), ("Same", "words")]))
    assert [hit["id"] for hit in searcher.search("same words", 2)] == [0, 2]


@pytest.mark.parametrize("query", ["", "   ", "?!", "the of and", "zyzzyva", "a", "\ud800", "\x00"])
def test_queries_without_a_known_word_find_nothing(index: Path, query: str) -> None:
    assert Searcher(index).search(query, 3) == []


def test_paragraphs_without_a_query_word_are_never_returned(index: Path) -> None:
    assert sorted(titles(Searcher(index).search("mathematician", 4))) == ["Ada Lovelace", "Charles Babbage"]


@pytest.mark.parametrize("k", [4, 5, 10_000])
def test_k_above_the_number_of_paragraphs_is_clamped(index: Path, k: int) -> None:
    searcher = Searcher(index)
    assert len(searcher) == 4
    assert len(searcher.search("mathematician city dance", k)) == 4


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(index: Path, k: int) -> None:
    with pytest.raises(SettingsError, match="at least 1 paragraph"):
        Searcher(index).search("city", k)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_composed_and_decomposed_spellings_find_each_other(tmp_path: Path, form: str) -> None:
    paragraphs = [(unicodedata.normalize(form, title), unicodedata.normalize(form, text)) for title, text in PARAGRAPHS]
    searcher = Searcher(built(tmp_path, paragraphs))
    for query in ("Café Müller", unicodedata.normalize("NFD", "café müller")):
        [hit] = searcher.search(query, 3)
        assert hit["title"] == paragraphs[3][0]


def test_one_paragraph(tmp_path: Path) -> None:
    searcher = Searcher(built(tmp_path, PARAGRAPHS[:1]))
    assert titles(searcher.search("machine", 3)) == ["Ada Lovelace"]


def test_blank_lines_line_separators_and_a_missing_last_newline(tmp_path: Path) -> None:
    index = built(tmp_path, [("One", "first\u2028still\x85first"), ("Two", "second")])
    corpus = tmp_path / "prep" / "corpus.jsonl"
    corpus.write_bytes(b"\n" + corpus.read_bytes().replace(b"}\n", b"}\n\n").rstrip())
    build(corpus, index, SETTINGS)
    assert Searcher(index).search("still", 1)[0]["text"] == "first\u2028still\x85first"
    assert titles(Searcher(index).search("second", 1)) == ["Two"]


def test_threads_get_the_same_answers_as_one_after_another(index: Path) -> None:
    searcher = Searcher(index)
    queries = ["english mathematician", "city chocolate", "café dance", "machine inventor"] * 100
    alone = [searcher.search(query, 3) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: searcher.search(query, 3), queries)) == alone


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
@pytest.mark.parametrize("harm", ["missing", "cut", "flipped", "emptied"])
def test_a_damaged_index_names_the_command_that_mends_it(tmp_path: Path, index: Path, name: str, harm: str) -> None:
    shutil.copytree(index.parent, tmp_path / "copy")
    victim = tmp_path / "copy" / "index" / name
    whole = victim.read_bytes()
    if harm == "missing":
        victim.unlink()
    elif harm == "flipped":
        victim.write_bytes(bytes([whole[0] ^ 0xFF]) + whole[1:])
    else:
        victim.write_bytes(whole[: len(whole) // 2] if harm == "cut" else b"")
    with pytest.raises(DataError, match=r"dvc repro index") as caught:
        Searcher(victim.parent)
    assert name in str(caught.value)


def test_an_index_that_was_never_built(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"manifest.json is missing; run `dvc repro index`"):
        Searcher(tmp_path / "index")


def test_an_index_of_another_format(tmp_path: Path) -> None:
    index = built(tmp_path, PARAGRAPHS)
    manifest = json.loads((index / MANIFEST).read_text())
    (index / MANIFEST).write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(DataError, match="format 99"):
        Searcher(index)


def test_the_pipeline_can_be_moved_as_a_whole(tmp_path: Path) -> None:
    built(tmp_path / "here", PARAGRAPHS)
    (tmp_path / "here").rename(tmp_path / "there")
    assert titles(Searcher(tmp_path / "there" / "index").search("chocolate", 1)) == ["Turin"]


def test_a_relative_index_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path, PARAGRAPHS)
    monkeypatch.chdir(tmp_path)
    searcher = Searcher(Path("index"))
    monkeypatch.chdir("/")
    assert titles(searcher.search("chocolate", 1)) == ["Turin"]


def test_a_moved_corpus_is_named(tmp_path: Path) -> None:
    index = built(tmp_path, PARAGRAPHS)
    corpus = tmp_path / "prep" / "corpus.jsonl"
    corpus.rename(tmp_path / "elsewhere.jsonl")
    with pytest.raises(DataError, match=rf"is not at {corpus}.*dvc repro index"):
        Searcher(index)


def test_another_corpus_in_its_place_is_noticed(tmp_path: Path) -> None:
    index = built(tmp_path, PARAGRAPHS)
    corpus = tmp_path / "prep" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("Turin", "Milan"))
    with pytest.raises(DataError, match=r"is not the corpus .*dvc repro index"):
        Searcher(index)


@pytest.mark.parametrize("content", ["", '{"id": 0}\n' * 100])
def test_a_corpus_rewritten_under_an_open_index_is_noticed(tmp_path: Path, content: str) -> None:
    searcher = Searcher(built(tmp_path, PARAGRAPHS))
    (tmp_path / "prep" / "corpus.jsonl").write_text(content)
    with pytest.raises(DataError, match=r"paragraph 2 is no longer where.*dvc repro index"):
        searcher.search("chocolate", 1)
