import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.files import sha256_file
from posttrain.wiki.doctor import data_check, probes
from posttrain.wiki.needs import needs_of
from tests.project import ROOT
from tests.wiki.hotpot_records import SHARED


def _prepared(root: Path, text: str, source: str) -> str:
    (root / "data/prep").mkdir(parents=True)
    (root / "metrics").mkdir()
    test = root / "data/prep/test.jsonl"
    test.write_text(text)
    (root / "metrics/prep.json").write_text(json.dumps({"source": source, "sha256": {"test": sha256_file(test)}}))
    return sha256_file(test)


def test_data_that_is_not_there_yet(tmp_path: Path) -> None:
    assert data_check("miniwiki", tmp_path).status == "ok"


def test_data_as_recorded(tmp_path: Path) -> None:
    digest = _prepared(tmp_path, "rows\n", "miniwiki")
    check = data_check("miniwiki", tmp_path)
    assert (check.status, check.found) == ("ok", f"data/prep/test.jsonl has SHA-256 {digest[:16]}")


def test_data_other_than_recorded(tmp_path: Path) -> None:
    _prepared(tmp_path, "rows\n", "files")
    (tmp_path / "data/prep/test.jsonl").write_text("others\n")
    check = data_check("files", tmp_path)
    assert check.status == "FAIL"
    assert "dvc checkout" in check.todo


def test_data_of_which_nothing_is_recorded(tmp_path: Path) -> None:
    _prepared(tmp_path, "rows\n", "files")
    (tmp_path / "metrics/prep.json").unlink()
    assert data_check("files", tmp_path).status == "warn"
    (tmp_path / "metrics/prep.json").write_text("{")
    with pytest.raises(DataError, match="not valid JSON"):
        data_check("files", tmp_path)


def test_data_of_the_source_before_is_no_fault(tmp_path: Path) -> None:
    _prepared(tmp_path, "rows\n", "miniwiki")
    check = data_check("hotpotqa", tmp_path)
    assert (check.status, check.found) == ("ok", "data/prep was made from miniwiki; `dvc repro` makes that of hotpotqa")


def test_hotpotqa_has_one_test_split_whatever_is_recorded(tmp_path: Path) -> None:
    _prepared(tmp_path, "rows\n", "hotpotqa")
    check = data_check("hotpotqa", tmp_path)
    assert check.status == "FAIL"
    assert "should have cb4ad042f2c0ef38" in check.found
    if SHARED.exists():
        (tmp_path / "data/prep/test.jsonl").write_bytes((SHARED / "expected_test_500.jsonl").read_bytes())
        assert data_check("hotpotqa", tmp_path).status == "ok"


def test_needs_grow_with_the_profile() -> None:
    smoke, mini, full = (needs_of(ROOT / "profiles" / f"{name}.yaml") for name in ("smoke", "mini", "full"))
    assert smoke.project.size < mini.project.size < full.project.size
    assert smoke.memory.size < mini.memory.size
    # The default run was measured to take 5.7 GB.
    assert mini.memory.size == pytest.approx(5.7e9, rel=0.1)
    assert full.project.size > 2 * 308e6


@pytest.mark.parametrize(
    ("profile", "special"),
    [
        ("mini", {"model"}),
        ("hotpot", {"model"}),
        ("full", {"hub", "key", "service", "tokenizer", "price", "answer", "checkpoints"}),
    ],
)
def test_which_checks_a_profile_calls_for(profile: str, special: set[str], tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text((ROOT / "profiles" / f"{profile}.yaml").read_text())
    names = [probe.name for probe in probes(tmp_path)]
    always = {"python", "packages", "repository", "params", "disk", "cache disk", "memory", "store", "data"}
    assert set(names) == always | special
    assert len(names) == len(set(names))


def test_params_that_cannot_be_read_leave_out_what_rests_on_them(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("engine: [")
    names = {probe.name for probe in probes(tmp_path)}
    assert names == {"python", "packages", "repository", "params", "disk", "cache disk", "memory", "store"}


@pytest.mark.parametrize("profile", ["mini", "full"])
def test_missing_packages_do_not_keep_the_checks_from_being_made(profile: str, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text((ROOT / "profiles" / f"{profile}.yaml").read_text())
    missing = "tinker", "torch", "transformers", "datasets", "bm25s"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({missing}));"
        "from pathlib import Path; from posttrain.wiki.doctor import probes; print(len(probes(Path.cwd())))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 9
