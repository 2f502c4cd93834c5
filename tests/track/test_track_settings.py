from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

from posttrain.errors import SettingsError
from posttrain.ledger.fingerprint import stage_inputs
from posttrain.settings import load
from posttrain.track.run import Run, flat
from posttrain.track.settings import TrackSettings
from tests.project import ROOT


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"to": "wandd", "project": "a"}, r"track\.to: must be one of none, tensorboard, wandb, mlflow.*mean wandb"),
        ({"to": "none", "project": "../up"}, r"track\.project: must be up to 100 letters"),
        ({"to": "none", "project": ""}, r"track\.project: must be up to 100 letters"),
        ({"to": "none"}, r"track\.project: missing"),
    ],
)
def test_impossible_settings(section: dict[str, str], problem: str, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump({"track": section}))
    with pytest.raises(SettingsError, match=problem):
        load("track", TrackSettings, file)


def test_off_in_every_profile() -> None:
    for file in [ROOT / "params.yaml", *(ROOT / "profiles").glob("*.yaml")]:
        assert load("track", TrackSettings, file).to == "none", file


def test_no_stage_declares_it_so_that_switching_reruns_nothing() -> None:
    pipeline = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    bodies = [stage.get("do", stage) for stage in pipeline.values()]
    assert not [key for body in bodies for key in body.get("params", []) if str(key).split(".")[0] == "track"]
    modules = {dep for body in bodies for dep in body["deps"] if "/track/" in dep}
    assert modules == {f"src/posttrain/track/{name}.py" for name in ("run", "settings", "tracked")}


def test_dvc_and_the_fingerprint_see_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    stage = {"cmd": "true", "deps": ["a"], "params": ["grpo"], "outs": [{"b": {"cache": False}}]}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"grpo": stage}}))
    for name in "ab":
        (tmp_path / name).write_text(name)
    file, found = tmp_path / "params.yaml", []
    file.write_text(yaml.safe_dump(params))
    monkeypatch.chdir(tmp_path)
    Repo.init(str(tmp_path), no_scm=True).commit(force=True)
    for changes in ({}, {"track": {"to": "wandb", "project": "other"}}, {"grpo": {**params["grpo"], "lr": 0.5}}):
        file.write_text(yaml.safe_dump({**params, **changes}))
        with Repo(str(tmp_path)) as repo:
            found.append((stage_inputs("grpo", file).fingerprint, repo.status()))
    assert found[0] == found[1] != found[2]
    assert (found[1][1], list(found[2][1])) == ({}, ["grpo"])


def test_a_run_goes_through_a_line_and_settings_flatten() -> None:
    config = flat({"grpo": {"lr": 1e-4, "at": [1]}, "data": {"levels": {"easy": 1.0}, "none": {}}, "text": "é\n\ud800"})
    assert config == {"grpo.lr": 1e-4, "grpo.at": [1], "data.levels.easy": 1.0, "data.none": {}, "text": "é\n\ud800"}
    run = Run("grpo-1", "grpo\nworkspace", "p", config, "/there")
    line = run.to_line()
    assert (line.count("\n"), Run.from_line(line)) == (1, run)
