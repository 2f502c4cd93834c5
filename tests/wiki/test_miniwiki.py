import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from posttrain.errors import SettingsError
from posttrain.wiki.miniwiki import MiniwikiSettings, generate
from posttrain.wiki.miniwiki_questions import _scattered, questions
from posttrain.wiki.miniwiki_world import build_world
from posttrain.wiki.prep import prepare
from posttrain.wiki.rows import Row, same_question_key
from tests.wiki.hotpot_records import read_lines, settings

ROOT = Path(__file__).resolve().parents[2]
EVEN = {"easy": 0.5, "medium": 0.25, "hard": 0.25}


def _world(paragraphs: int, train: int, seed: int = 0) -> tuple[dict[str, str], list[Row], list[Row]]:
    source = generate(MiniwikiSettings(paragraphs, train, val=20, test=20, seed=seed, levels=EVEN))
    assert source.corpus is not None
    return dict(source.corpus()), list(source.rows("train")), list(source.rows("dev"))


@examples(max_examples=15, deadline=None)
@given(st.integers(60, 700), st.integers(0, 5))
def test_any_world_is_sound(size: int, seed: int) -> None:
    corpus, train, dev = _world(size, train=size, seed=seed)
    rows = train + dev
    assert len(corpus) == size
    assert len(rows) == size + 40
    assert len({row.id for row in rows}) == len(rows)
    assert len({same_question_key(row.question) for row in rows}) == len(rows)
    for title, text in corpus.items():
        assert 30 <= len(text.split()) <= 60, text
        assert text.startswith(("The ", re.sub(r" \(.*\)$", "", title)))
        assert not re.search(r"[{}]|  |\.\.", title + text)
    for row in rows:
        (answer,) = row.answers
        assert all(title in corpus for title in row.titles)
        assert len(row.queries) == len(row.titles) == (1 if row.type == "single" else 2)
        assert (row.level == "easy") == (row.type == "single")
        assert row.question.endswith("?")
        if answer not in ("yes", "no"):
            assert len(answer.split()) <= 4
            assert answer in corpus[row.titles[0 if row.type == "comparison" and answer in row.titles[0] else -1]]


def test_the_first_paragraph_of_a_two_hop_question_does_not_hold_the_answer() -> None:
    corpus, train, _ = _world(2000, train=4000)
    bridges = [row for row in train if row.type == "bridge"]
    told = sum(row.answers[0] in corpus[row.titles[0]].split() for row in bridges)
    assert len(bridges) > 1000
    assert told < len(bridges) * 0.02


def test_names_are_shared_and_hard_questions_ask_about_them() -> None:
    corpus, train, _ = _world(2000, train=4000)
    plain = Counter(re.sub(r" \(.*\)$", "", title) for title in corpus)
    assert sum(count > 1 for count in plain.values()) > 100
    surnames = Counter(title.split()[1] for title in corpus if len(title.split(" (")[0].split()) == 2)
    assert surnames.most_common(40)[-1][1] >= 5
    for row in train:
        if row.level != "easy":
            assert any(title.endswith(")") for title in row.titles) == (row.level == "hard")


def test_comparisons_are_balanced_so_that_guessing_earns_half() -> None:
    answers = Counter(a for row in _world(2000, train=8000)[1] for a in row.answers if a in ("yes", "no"))
    assert 0.4 < answers["yes"] / answers.total() < 0.6


def test_level_shares_are_kept() -> None:
    _, train, dev = _world(500, train=1000)
    assert Counter(row.level for row in train) == {"easy": 500, "medium": 250, "hard": 250}
    assert Counter(row.level for row in dev) == {"easy": 20, "medium": 10, "hard": 10}


def test_rows_can_be_asked_for_again() -> None:
    source = generate(MiniwikiSettings(60, 30, val=5, test=5, seed=1, levels=EVEN))
    first = list(source.rows("train"))
    assert list(source.rows("dev")) == list(source.rows("dev"))
    assert list(source.rows("train")) == first


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from posttrain.wiki.prep import prepare;"
        "from tests.wiki.hotpot_records import settings;"
        "prepare(settings(source='miniwiki', paragraphs=800, train=900, val=20, test=20, seed=7), Path(sys.argv[1]))"
    )
    hashes = []
    for salt in ("1", "4242"):
        out = tmp_path / salt
        environment = os.environ | {"PYTHONHASHSEED": salt}
        command = [sys.executable, "-c", script, str(out)]
        subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=120)
        hashes.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()})
    assert len(hashes[0]) == 5
    assert hashes[0] == hashes[1]


def test_seeds_differ() -> None:
    assert _world(60, 10, seed=1)[0] != _world(60, 10, seed=2)[0]


def test_prepared_files_hold_queries_and_leak_nothing(tmp_path: Path) -> None:
    chosen = settings(source="miniwiki", paragraphs=300, train=900, val=30, test=60)
    metrics = prepare(chosen, tmp_path)
    assert metrics["counts"] == {"train": 900, "val": 30, "test": 60, "corpus": 300, "gold": 990}
    assert {tuple(row) for row in read_lines(tmp_path / "gold.jsonl")} == {("id", "titles", "queries")}
    ids = [{row["id"] for row in read_lines(tmp_path / f"{name}.jsonl")} for name in ("train", "val", "test")]
    assert len(set.union(*ids)) == 990
    assert all(re.fullmatch(r"mini-\d{6}", found) for found in set.union(*ids))


def test_too_many_questions_are_refused_by_name(tmp_path: Path) -> None:
    chosen = settings(source="miniwiki", train=5000, val=5, test=5)
    with pytest.raises(SettingsError, match=r"data.paragraphs 60 is too few: its world has \d+ easy questions less"):
        prepare(chosen, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_each_level_has_several_questions_for_each_paragraph() -> None:
    world = build_world(1000, 0)
    for level in ("easy", "medium", "hard"):
        assert sum(1 for _ in islice(questions(world, level), 4000)) == 4000


@given(st.integers(1, 500), st.randoms(use_true_random=False))
def test_scattered_visits_every_number_once(count: int, rng: object) -> None:
    assert sorted(_scattered(rng, count)) == list(range(count))  # type: ignore[arg-type]


def test_scripted_searches_find_the_gold_paragraphs() -> None:
    bm25s = pytest.importorskip("bm25s")
    stemmer = pytest.importorskip("Stemmer").Stemmer("english")
    corpus, train, _ = _world(1500, train=300)
    titles = list(corpus)

    def tokens(texts: list[str]) -> object:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index(tokens([f"{title}. {text}" for title, text in corpus.items()]), show_progress=False)

    def found(queries: list[str], gold: list[str]) -> float:
        best, _ = index.retrieve(tokens(queries), k=3, show_progress=False)
        return sum(title in [titles[i] for i in row] for title, row in zip(gold, best, strict=True)) / len(gold)

    easy = [row for row in train if row.level == "easy"]
    assert found([row.question for row in easy], [row.titles[0] for row in easy]) > 0.95
    assert found([q for row in train for q in row.queries], [t for row in train for t in row.titles]) > 0.95
