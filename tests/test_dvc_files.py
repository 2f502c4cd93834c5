import json
from pathlib import Path

import pytest

from posttrain.dvc_files import mend_dvc_files
from posttrain.errors import DataError
from tests.project import Project


@pytest.fixture
def holders(tmp_path: Path) -> Path:
    path = tmp_path / ".dvc/tmp/rwlock"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize("torn", ["", '{"read": {"a', "[1"])
def test_a_torn_list_of_holders_goes(tmp_path: Path, holders: Path, torn: str) -> None:
    holders.write_text(torn)
    assert str(holders) in str(mend_dvc_files(tmp_path))
    assert not holders.exists()


def test_a_whole_one_stays(tmp_path: Path, holders: Path) -> None:
    assert mend_dvc_files(tmp_path) is None
    holders.write_text(json.dumps({"read": {}, "write": {}}))
    assert mend_dvc_files(tmp_path) is None
    assert holders.exists()


@pytest.mark.parametrize("torn", ["", "schema: '2.0'\nstages:\n  prep:\n    cmd: [a", "- 1\n"])
def test_a_torn_lock_is_named_with_the_way_back(tmp_path: Path, torn: str) -> None:
    (tmp_path / "dvc.lock").write_text(torn)
    with pytest.raises(DataError, match=r"dvc\.lock is not whole.*git checkout dvc\.lock"):
        mend_dvc_files(tmp_path)


def test_dvc_starts_again_after_a_check(project: Project) -> None:
    project.git("init", "-q")
    holders = project.root / ".dvc/tmp/rwlock"
    holders.parent.mkdir(parents=True, exist_ok=True)
    holders.write_text("")
    refused = project.python("-m", "dvc", "repro", "prep")
    assert refused.returncode != 0
    assert "RWLock" in refused.stderr
    assert "removed .dvc/tmp/rwlock" in project.posttrain("check").stderr
    project.dvc("repro", "prep")
