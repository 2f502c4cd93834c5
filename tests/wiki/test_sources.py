import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError, SettingsError
from posttrain.settings import load
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.hotpot_rows import parse_row
from posttrain.wiki.records import read_records
from posttrain.wiki.sources import open_source
from tests.wiki.hotpot_records import hub, official, settings, write_lines


def _ids(chosen: Any, split: Any) -> list[str]:
    return [row.id for row in open_source(chosen).rows(split)]


def test_one_file_split_by_a_field(tmp_path: Path) -> None:
    records = [hub(0, level="easy"), hub(1), hub(2, level="medium"), hub(3)]
    chosen = settings(file=write_lines(tmp_path / "a.jsonl", records), split_field="level", dev_values=["hard"])
    assert (_ids(chosen, "train"), _ids(chosen, "dev")) == (["q0", "q2"], ["q1", "q3"])
    chosen = settings(file=chosen.file, split_field="fold", dev_values=["1"])
    with pytest.raises(DataError, match=r"a.jsonl:1: no field 'fold'"):
        _ids(chosen, "dev")


def test_one_file_split_by_ids(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [hub(0), official(1), hub(2)])
    chosen = settings(file=path, dev_ids_file=write_lines(tmp_path / "ids.jsonl", [{"id": "q1"}]))
    assert (_ids(chosen, "train"), _ids(chosen, "dev")) == (["q0", "q2"], ["q1"])


def test_titles_keep_hop_order_without_repeats() -> None:
    row = parse_row("x:1", hub(4))
    assert row.titles == ("Work 4", "Shared")
    assert row.context[1] == ("Shared", ("Seen 4.", " End. "))
    assert parse_row("x:1", official(4)) == row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " "}, "question is empty"),
        ({"question": None}, "question should be a string, found NoneType"),
        ({"answer": ""}, "answer is empty"),
        ({"answers": []}, "answers is empty"),
        ({"answers": ["x", " "]}, "holds an empty answer"),
        ({"id": 7}, "id should be a string, found int"),
        ({"type": "riddle"}, "type 'riddle' is unknown"),
        ({"level": "odd"}, "level 'odd' is unknown"),
        ({"supporting_facts": {"title": [], "sent_id": []}}, "supporting_facts is empty"),
        ({"supporting_facts": None}, "supporting_facts is missing"),
        ({"context": {"title": ["a"], "sentences": []}}, "context should hold the lists title and sentences"),
        ({"context": [["a"]]}, "context is not a list of pairs"),
        ({"context": [["", ["x"]]]}, "context holds an empty title"),
        ({"context": [["a", "text"]]}, "context sentences should hold a list of strings"),
        ({"question": "\ud800"}, "lone surrogate"),
    ],
)
def test_malformed_rows_are_named_with_their_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", [hub(0), hub(1) | change])
    with pytest.raises(DataError, match=f"a.jsonl:2: .*{message}"):
        _ids(settings(file=path), "dev")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "a.jsonl: holds no records"),
        ("a.jsonl", b"\n\n", "a.jsonl: holds no records"),
        ("a.jsonl", b'\n{"a": 1}\n{"b"', r"a.jsonl:3: not valid JSON"),
        ("a.jsonl", b"[1]\n", "a.jsonl:1: expected an object, found list"),
        ("a.jsonl", b"\xff\xfe", "a.jsonl: not UTF-8"),
        ("a.json", b"", "expected a JSON array"),
        ("a.json", b"[]", "a.json: holds no records"),
        ("a.json", b'[{"a": 1}, 2]', "a.json record 2: expected an object"),
        ("a.json", b'[{"a": 1}, {"b"', "a.json record 2: not valid JSON"),
        ("a.json", b'[{"a": 1} {"b": 1}]', "record 1: the array does not go on"),
        ("a.json", b'[{"a": 1}] []', "something follows the array after record 1"),
        ("a.json", b'[{"a": 1}', "record 1: not valid JSON: the array does not end"),
        ("a.parquet", b"PAR", "a.parquet: not a readable parquet file"),
        ("a.csv", b"x", "a.csv: unknown kind of file"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(read_records(path))


def test_missing_file_is_named_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone.jsonl is missing; data.file names it"):
        open_source(settings(file=str(tmp_path / "gone.jsonl")))


@given(
    st.lists(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text(max_size=40)), min_size=1),
    st.integers(1, 50),
)
def test_json_array_is_read_alike_in_chunks_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, str]], chunk: int
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(records, indent=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("posttrain.wiki.records._CHUNK", chunk)
        assert [record for _, record in read_records(path)] == records


def test_hub_without_datasets_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(SettingsError, match="pip install"):
        open_source(settings(source="hotpotqa", val=200, test=500, revision="abc"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "web"}, "^source: must be one of .*, is 'web'"),
        ({"val": 0}, "^val: must be at least 1, is 0"),
        ({}, "^train_file: must be set"),
        ({"train_file": "t"}, "^dev_file: must be set"),
        ({"file": "f", "dev_file": "d"}, "^file: cannot stand beside"),
        ({"file": "f", "split_field": "level"}, "^split_field: goes together"),
        ({"file": "f", "dev_values": ["x"]}, "^split_field: goes together"),
        (
            {"file": "f", "split_field": "a", "dev_values": ["x"], "dev_ids_file": "i"},
            "^split_field: data.dev_ids_file too",
        ),
        ({"train_file": "t", "dev_file": "d", "dev_ids_file": "i"}, "^dev_ids_file: tells"),
        ({"source": "hotpotqa"}, "^test: must be 500, is 1; .*comparable"),
        ({"source": "hotpotqa", "val": 200, "test": 500}, "^revision: must be set"),
        ({"source": "miniwiki"}, "^train: must be a number"),
        ({"source": "miniwiki", "train": 1, "paragraphs": 59}, "^paragraphs: must be from 60 to 500000, is 59"),
        ({"source": "miniwiki", "train": 1, "levels": {"easy": 0.5}}, "^levels: must sum to 1, sums to 0.5"),
        (
            {"source": "miniwiki", "train": 1, "levels": {"easy": 2.0, "hard": -1.0}},
            "^levels.hard: must be at least 0, is -1.0",
        ),
        ({"source": "miniwiki", "train": 1, "levels": {"tough": 1.0}}, "^levels.tough: unknown"),
    ],
)
def test_impossible_settings(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings(**change).check()


def test_data_section_loads_with_the_settings_loader(tmp_path: Path) -> None:
    section = settings(source="miniwiki", train=9, levels={"easy": 1.0})
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"data": dataclasses.asdict(section)}))
    assert load("data", DataSettings, tmp_path / "params.yaml") == section
