import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.files import sha256_file
from posttrain.wiki.prep import HOTPOT_TEST_SHA256, prepare
from posttrain.wiki.rows import Row, Source, same_question_key
from tests.wiki.hotpot_records import SHARED, hub, official, read_lines, settings, write_lines

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data/hotpot")
HOTPOT = {"source": "hotpotqa", "train": 1, "val": 200, "test": 500, "revision": "pinned"}


def _row(number: int, **changes: Any) -> Row:
    values: dict[str, Any] = {
        "id": f"q{number}",
        "question": f"Question {number}?",
        "answers": ("a",),
        "type": "bridge",
        "level": "hard",
        "titles": ("Page",),
        "context": (("Page", ("Text.",)),),
    }
    return Row(**(values | changes))


def _source(dev: list[Row], train: list[Row], strict: bool = True) -> Source:
    return Source(lambda split: iter(dev if split == "dev" else train), None, strict=strict)


def _hotpot_dev(name: str) -> list[Row]:
    return [
        _row(0, id=r["id"], question=r["question"], answers=tuple(r["answers"]), type=r["type"], level=r["level"])
        for r in read_lines(SHARED / name)
    ]


@needs_shared
def test_recipe_splits_of_hotpotqa_are_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    dev = _hotpot_dev("dev_full_7405.jsonl")
    metrics = prepare(settings(**HOTPOT), tmp_path, _source(dev, [_row(0)], strict=False))
    assert (tmp_path / "test.jsonl").read_bytes() == (SHARED / "expected_test_500.jsonl").read_bytes()
    assert (tmp_path / "val.jsonl").read_bytes() == (SHARED / "expected_val_200.jsonl").read_bytes()
    assert metrics["sha256"]["test"].startswith(HOTPOT_TEST_SHA256)


@needs_shared
def test_any_other_hotpotqa_test_split_stops_and_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text("old")
    dev = _hotpot_dev("dev_full_7405.jsonl")[::-1]
    with pytest.raises(DataError, match=r"SHA-256 .* not cb4ad042f2c0ef38"):
        prepare(settings(**HOTPOT), tmp_path, _source(dev, [_row(0)], strict=False))
    assert [path.name for path in tmp_path.iterdir()] == ["test.jsonl"]
    assert (tmp_path / "test.jsonl").read_text() == "old"


@needs_shared
def test_shared_fragment_with_dev_ids_and_ready_corpus(tmp_path: Path) -> None:
    chosen = settings(
        file=str(SHARED / "hotpot_distractor.jsonl"),
        dev_ids_file=str(SHARED / "dev_full_7405.jsonl"),
        corpus_file=str(SHARED / "corpus_hotpot.jsonl"),
        val=200,
        test=500,
    )
    metrics = prepare(chosen, tmp_path)
    assert metrics["counts"] == {"train": 399, "val": 200, "test": 500, "corpus": 23_487, "gold": 1_099}
    assert sha256_file(tmp_path / "corpus.jsonl") == sha256_file(SHARED / "corpus_hotpot.jsonl")
    assert metrics["gold_titles_without_paragraph"] == 0


def test_closed_shape_of_the_files(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "all.jsonl", [hub(n) for n in range(5)])
    out = tmp_path / "prep"
    metrics = prepare(settings(file=path), out)
    assert sorted(p.name for p in out.iterdir()) == [
        "corpus.jsonl",
        "gold.jsonl",
        "test.jsonl",
        "train.jsonl",
        "val.jsonl",
    ]
    questions = [row for name in ("train", "val", "test") for row in read_lines(out / f"{name}.jsonl")]
    assert {tuple(row) for row in questions} == {("id", "question", "answers", "type", "level")}
    assert {tuple(row) for row in read_lines(out / "gold.jsonl")} == {("id", "titles")}
    assert [row["id"] for row in read_lines(out / "gold.jsonl")] == [row["id"] for row in questions]
    assert read_lines(out / "corpus.jsonl")[:2] == [
        {"id": 0, "title": "Work 0", "text": "Painted by Painter 0. It is Ünï."},
        {"id": 1, "title": "Shared", "text": "Seen 0. End."},
    ]
    assert "Ünï" in (out / "corpus.jsonl").read_text(encoding="utf-8")
    assert metrics["counts"] == {"train": 3, "val": 1, "test": 1, "corpus": 6, "gold": 5}
    assert metrics["sha256"]["gold"] == sha256_file(out / "gold.jsonl")
    assert metrics["levels"]["train"] == {"hard": 3}
    assert metrics["types"]["test"] == {"bridge": 1}


def test_corpus_takes_train_first(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", [hub(9)])
    dev = write_lines(tmp_path / "dev.jsonl", [hub(1), hub(2)])
    prepare(settings(train_file=train, dev_file=dev), tmp_path / "out")
    assert [row["title"] for row in read_lines(tmp_path / "out/corpus.jsonl")] == [
        "Work 9",
        "Shared",
        "Work 1",
        "Work 2",
    ]


def test_both_schemas_and_all_formats_make_the_same_files(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    hubs, officials = [hub(n) for n in range(6)], [official(n) for n in range(6)]
    write_lines(tmp_path / "hub.jsonl", hubs)
    write_lines(tmp_path / "official.jsonl", officials)
    (tmp_path / "official.json").write_text(json.dumps(officials, indent=1))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(hubs), tmp_path / "hub.parquet")
    hashes = [
        prepare(settings(file=str(tmp_path / name)), tmp_path / "out")["sha256"]
        for name in ("hub.jsonl", "official.jsonl", "official.json", "hub.parquet")
    ]
    assert all(found == hashes[0] for found in hashes)


@pytest.mark.parametrize(
    ("dev", "train", "message"),
    [
        ([_row(0), _row(1)], [_row(0, question="Other?")], "id 'q0' comes twice"),
        ([_row(0), _row(1)], [_row(2, question="question  1")], "comes twice"),
        ([_row(0), _row(1)], [_row(2), _row(3, question="QUESTION, 2")], "comes twice"),
        ([_row(0)], [_row(2)], "1 dev rows; data.test and data.val ask for 2"),
        ([_row(0), _row(1)], [], "0 train rows"),
        ([_row(0), _row(1)], [_row(2, titles=("Nowhere",))], "'Nowhere' of 'q2' has no paragraph"),
    ],
)
def test_refusals(tmp_path: Path, dev: list[Row], train: list[Row], message: str) -> None:
    with pytest.raises(DataError, match=message):
        prepare(settings(), tmp_path, _source(dev, train))
    assert list(tmp_path.iterdir()) == []


def test_published_data_may_repeat_a_question_inside_train_but_not_across_splits(tmp_path: Path) -> None:
    dev = [_row(0), _row(1)]
    repeated = [_row(2), _row(3, question="question 2")]
    assert prepare(settings(), tmp_path, _source(dev, repeated, strict=False))["repeated_questions"] == 1
    with pytest.raises(DataError, match="comes twice"):
        prepare(settings(), tmp_path, _source(dev, [_row(4, question="question 1")], strict=False))


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        min_size=3,
        max_size=8,
        unique_by=same_question_key,
    )
)
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    out = tmp_path_factory.mktemp("prep")
    rows = [_row(n, question=text, answers=(text,), context=(("Page", (text,)),)) for n, text in enumerate(texts)]
    prepare(settings(), out, _source(rows[:2], rows[2:]))
    written = [row for name in ("train", "val", "test") for row in read_lines(out / f"{name}.jsonl")]
    assert sorted(row["question"] for row in written) == sorted(texts)
    assert all(row["answers"] == [row["question"]] for row in written)
    assert read_lines(out / "corpus.jsonl")[0]["text"] == texts[2].strip()


@given(st.text())
def test_question_key_ignores_case_punctuation_and_space(text: str) -> None:
    key = same_question_key(text)
    assert same_question_key(f"  {text} ?!\n") == key == same_question_key(key)
