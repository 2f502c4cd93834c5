from pathlib import Path

import pytest

from posttrain.errors import SettingsError
from posttrain.ledger import places


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("POSTTRAIN_CACHE", "XDG_CACHE_HOME", "DVC_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert places.default_path() == tmp_path / "home" / ".cache" / "posttrain"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert places.default_path() == tmp_path / "home" / ".cache" / "posttrain"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert places.default_path() == tmp_path / "xdg" / "posttrain"
    monkeypatch.setenv("POSTTRAIN_CACHE", "~/mine")
    assert places.samples_path() == tmp_path / "home" / "mine" / "samples.sqlite"
    assert places.checkpoints_dir() == tmp_path / "home" / "mine" / "checkpoints"
    assert places.models_dir() == tmp_path / "home" / "mine" / "models"


def test_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no dvc\.yaml in"):
        places.project_root()
    (tmp_path / "dvc.yaml").write_text("")
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert places.state_dir() == tmp_path / ".posttrain" / "state"
    monkeypatch.setenv("DVC_ROOT", "/original")
    assert places.project_root() == Path("/original")
