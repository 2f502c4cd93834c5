"""`posttrain.pipeline` reads dvc.yaml without DVC: both must see the same."""

from pathlib import Path

from dvc.repo import Repo

from posttrain.pipeline import read_stage
from tests.project import ROOT


def test_stages_are_read_as_dvc_reads_them() -> None:
    with Repo(str(ROOT)) as repo:
        stages = {stage.addressing: stage for stage in repo.index.stages}
        assert len(stages) > 30
        for name, stage in stages.items():
            read = read_stage(name, Path(stage.wdir) / "params.yaml")
            files = {dep.def_path for dep in stage.deps if dep.def_path != "params.yaml"}
            keys = {key for dep in stage.deps if dep.def_path == "params.yaml" for key in dep.params}
            assert (read.name, read.cmd.split()) == (name.rpartition(":")[2], str(stage.cmd).split())
            assert set(read.deps) == files, name
            assert read.params == keys, name
            assert set(read.outs) == {out.def_path for out in stage.outs}, name


def test_a_folder_in_front_of_the_name_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text("stages: {a: {foreach: {x: 1, y: [2]}, do: {cmd: 'do ${key} ${item}'}}}")
    assert read_stage("euler/dvc.yaml:a@x", tmp_path / "params.yaml").cmd == "do x 1"
