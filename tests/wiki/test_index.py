import json
import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer

from posttrain.errors import DataError, PosttrainError, SettingsError, StoreError
from posttrain.wiki import index as index_module
from posttrain.wiki import postings
from posttrain.wiki.index import build
from posttrain.wiki.index_settings import IndexSettings
from tests.wiki.corpora import PARAGRAPHS, SETTINGS, built, contents, write_paragraphs


class InlinePool:
    """Runs the shards in this process, so that refusals across shards are tested without starting processes."""

    def __init__(self, *_: object, **__: object) -> None:
        self.map = map

    def __enter__(self) -> "InlinePool":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def random_paragraphs(count: int, seed: int) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    words = [f"w{n}" for n in range(60)] + ["the", "of", "running", "runs", "naïve"]
    weights = 1 / np.arange(1, len(words) + 1)
    draw = lambda n: " ".join(rng.choice(words, n, p=weights / weights.sum()))  # noqa: E731
    return [(draw(2), draw(int(rng.integers(0, 40)))) for _ in range(count)]


@pytest.mark.parametrize("settings", [SETTINGS, IndexSettings(k1=0.9, b=0.4), IndexSettings(k1=0, b=1)])
def test_bm25s_loads_it_and_finds_its_own_scores_to_the_last_bit(tmp_path: Path, settings: IndexSettings) -> None:
    paragraphs = random_paragraphs(300, seed=1)
    loaded = bm25s.BM25.load(built(tmp_path, paragraphs, settings))
    plain = bm25s.BM25(k1=settings.k1, b=settings.b)
    stemmer = Stemmer.Stemmer("english")
    texts = [f"{title}. {text}" for title, text in paragraphs]
    plain.index(bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False)
    for query in (["w1"], ["w3", "run", "w40"], ["naïv", "w2", "w2"]):
        assert np.array_equal(loaded.get_scores(query), plain.get_scores(query))
    assert loaded.scores["indices"].dtype == plain.scores["indices"].dtype
    assert loaded.scores["indptr"].dtype == plain.scores["indptr"].dtype


def test_metrics_count_what_was_indexed(tmp_path: Path) -> None:
    corpus = write_paragraphs(tmp_path / "corpus.jsonl", [("Alpha", "beta beta"), ("Gamma", "the alpha")])
    metrics = build(corpus, tmp_path / "index", SETTINGS)
    size = sum(path.stat().st_size for path in (tmp_path / "index").iterdir())
    assert metrics == {"documents": 2, "stems": 3, "postings": 4, "mean_length": 2.5, "bytes": size}


def test_bytes_do_not_depend_on_workers_or_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paragraphs = random_paragraphs(500, seed=2)
    one = contents(built(tmp_path, paragraphs, workers=1))
    monkeypatch.setattr(index_module, "SHARD_BYTES", 1)
    assert contents(built(tmp_path, paragraphs, workers=3)) == one
    monkeypatch.setattr(postings, "BATCH_TOKENS", 50)
    assert contents(built(tmp_path, paragraphs, workers=1)) == one


def test_more_workers_than_paragraphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = contents(built(tmp_path, PARAGRAPHS[:1], workers=1))
    monkeypatch.setattr(index_module, "SHARD_BYTES", 1)
    assert contents(built(tmp_path, PARAGRAPHS[:1], workers=3)) == one


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from posttrain.wiki.index import build; "
        "from posttrain.wiki.index_settings import IndexSettings; "
        "build(Path(sys.argv[1]), Path(sys.argv[2]), IndexSettings(1.5, 0.75), workers=1)"
    )
    corpus = write_paragraphs(tmp_path / "corpus.jsonl", random_paragraphs(200, seed=3))
    outs = [tmp_path / "0" / "index", tmp_path / "1" / "index"]
    for seed, out in enumerate(outs):
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        subprocess.run([sys.executable, "-c", code, str(corpus), str(out)], check=True, env=environment)
    assert contents(outs[0]) == contents(outs[1])


def test_a_new_build_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    built(tmp_path, PARAGRAPHS[:2])
    index = built(tmp_path, PARAGRAPHS)
    assert json.loads((index / "params.index.json").read_text())["num_docs"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "prep"]


def test_a_failed_build_leaves_the_old_one(tmp_path: Path) -> None:
    index = built(tmp_path, PARAGRAPHS)
    before = contents(index)
    (tmp_path / "prep" / "corpus.jsonl").write_text("[]\n")
    with pytest.raises(DataError):
        build(tmp_path / "prep" / "corpus.jsonl", index, SETTINGS)
    assert contents(index) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "prep"]


def test_an_old_index_survives_when_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = built(tmp_path, PARAGRAPHS[:2])
    before = contents(index)
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.suffix != ".old" and target == index:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(StoreError, match="Permission denied"):
        built(tmp_path, PARAGRAPHS)
    assert contents(index) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "prep"]


class DyingPool(InlinePool):
    """A pool of which the system has killed a process."""

    def __init__(self, *_: object, **__: object) -> None:
        self.map = self.die

    def die(self, *_: object) -> None:
        raise BrokenProcessPool("a process died")


def test_a_killed_worker_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "SHARD_BYTES", 1)
    monkeypatch.setattr(index_module, "ProcessPoolExecutor", DyingPool)
    with pytest.raises(PosttrainError, match=r"was killed.*dvc repro index"):
        built(tmp_path, PARAGRAPHS, workers=2)


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(StoreError, match=r"No space left.*free some space"):
        built(tmp_path, PARAGRAPHS)


GOOD = '{"id": 0, "title": "A b", "text": "c d"}'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty"),
        (["", "  "], "is empty"),
        (['{"id": 0, "title": "The", "text": "of a"}'], "no word"),
        ([GOOD, "{"], r"corpus.jsonl:2: not valid JSON"),
        ([GOOD, "", "[1]"], r"corpus.jsonl:3: expected a JSON object, found list"),
        ([GOOD, '{"id": 2, "title": "A", "text": "b"}'], r"corpus.jsonl:2: 'id' must be 1|has id 2, expected 1"),
        (['{"id": "x", "title": "A", "text": "b"}'], r"corpus.jsonl:1: 'id' must be a whole number"),
        (['{"id": true, "title": "A", "text": "b"}'], r"corpus.jsonl:1: 'id' must be a whole number"),
        (['{"id": 1, "title": "A", "text": "b"}'], r"has id 1, expected 0"),
        ([GOOD, '{"id": 1, "title": "A"}'], r"corpus.jsonl:2: 'text' must be text, found None"),
        (['{"id": 0, "title": 7, "text": "b"}'], r"corpus.jsonl:1: 'title' must be text, found 7"),
    ],
)
@pytest.mark.parametrize("shard_bytes", [1 << 20, 1])
def test_a_corpus_that_cannot_be_indexed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], message: str, shard_bytes: int
) -> None:
    monkeypatch.setattr(index_module, "SHARD_BYTES", shard_bytes)
    monkeypatch.setattr(index_module, "ProcessPoolExecutor", InlinePool)
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(DataError, match=message) as caught:
        build(corpus, tmp_path / "index", SETTINGS)
    assert "dvc repro prep" in str(caught.value)
    assert not (tmp_path / "index").exists()


def test_bytes_that_are_not_utf8_are_refused_by_line(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(GOOD.encode() + b'\n{"id": 1, "title": "\xff", "text": ""}\n')
    with pytest.raises(DataError, match=r"corpus.jsonl:2: not valid JSON in UTF-8"):
        build(corpus, tmp_path / "index", SETTINGS)


def test_a_missing_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read the corpus .*dvc repro prep"):
        build(tmp_path / "none.jsonl", tmp_path / "index", SETTINGS)


@pytest.mark.parametrize(
    ("k1", "b", "name"),
    [
        *((k1, 0.5, "k1") for k1 in (-0.1, float("nan"), float("inf"), "1", True)),
        *((1.5, b, "b") for b in (1.1, -0.1, None)),
    ],
)
def test_settings_out_of_range_are_refused_by_name(tmp_path: Path, k1: float, b: float, name: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{name}: must be a number "):
        build(tmp_path / "corpus.jsonl", tmp_path / "index", IndexSettings(k1, b))


def test_workers_below_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="at least 1 worker"):
        build(tmp_path / "corpus.jsonl", tmp_path / "index", SETTINGS, workers=0)
