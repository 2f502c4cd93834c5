from collections.abc import Callable
from pathlib import Path

import pytest

from posttrain.errors import DataError, SettingsError
from posttrain.ledger.fingerprint import Inputs, sha256_path, stage_inputs

PIPELINE = """
stages:
  eval:
    foreach: [1, 2]
    do:
      cmd: python run.py ${item}
      deps: [run.py, data, "model-${item}"]
      params: [sampling, run.seed]
      outs: ["out-${item}"]
"""
PARAMS = "sampling: {temperature: 0.0}\nrun: {seed: 0, name: x}\nother: 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for name, text in {
        "dvc.yaml": PIPELINE,
        "params.yaml": PARAMS,
        "run.py": "pass",
        "data/a": "1",
        "data/ü": "2",
        "model-1": "w",
        "model-2": "v",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def inputs(root: Path, name: str = "eval@1") -> Inputs:
    return stage_inputs(name, root / "params.yaml")


def test_inputs_are_named_with_their_hashes_and_values(root: Path) -> None:
    found = inputs(root)
    assert found.params == {"run.seed": 0, "sampling": {"temperature": 0.0}}
    assert list(found.deps) == ["run.py", "data", "model-1"]
    assert inputs(root).fingerprint == found.fingerprint


def write(path: str, text: str) -> Callable[[Path], object]:
    return lambda root: (root / path).write_text(text)


@pytest.mark.parametrize(
    ("change", "all_changed", "data_changed"),
    [
        (write("run.py", "print()"), True, False),
        (write("data/a", "3"), True, True),
        (write("data/b", ""), True, True),
        (lambda root: (root / "data/a").rename(root / "data/c"), True, True),
        (write("params.yaml", PARAMS.replace("0.0", "0.5")), True, True),
        (write("params.yaml", PARAMS.replace("seed: 0", "seed: 1")), True, True),
        (write("params.yaml", PARAMS.replace("other: 1", "other: 2").replace("name: x", "name: y")), False, False),
        (write("model-2", "z"), False, False),
        (write("dvc.yaml", PIPELINE.replace("run.py ${item}", "run.py ${item} -x")), True, True),
    ],
)
def test_a_fingerprint_covers_what_changes_the_result(
    root: Path, change: Callable[[Path], object], all_changed: bool, data_changed: bool
) -> None:
    before = inputs(root)
    change(root)
    after = inputs(root)
    assert (after.fingerprint != before.fingerprint) == all_changed
    assert (after.data_fingerprint != before.data_fingerprint) == data_changed


def test_stages_of_one_matrix_differ(root: Path) -> None:
    assert inputs(root, "eval@1").data_fingerprint != inputs(root, "eval@2").data_fingerprint


def test_a_missing_dep_and_a_missing_stage_are_named(root: Path) -> None:
    (root / "model-1").unlink()
    with pytest.raises(DataError, match="model-1 is missing"):
        inputs(root)
    with pytest.raises(SettingsError, match="has no stage train"):
        inputs(root, "train")


def test_a_folder_and_a_file_with_its_bytes_differ(root: Path) -> None:
    assert sha256_path(root / "data") != sha256_path(root / "data" / "a")
