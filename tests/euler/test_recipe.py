"""The recipe as a user runs it: DVC, real Pi, real sandbox, a script in the model's place."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from posttrain.errors import InfrastructureError
from posttrain.euler.agent.install import find_pi
from posttrain.euler.sandbox.choose import available
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.settings import load
from tests.project import ROOT, Project, copy_project

PI = ROOT / "euler/pi"


def missing() -> str:
    """What keeps Pi from running here; nothing if it does."""
    try:
        find_pi(PI)
    except InfrastructureError as error:
        return str(error)
    found = available(load("sandbox", SandboxSettings, ROOT / "euler/params.yaml"))
    return "" if "" in found.values() else "; ".join(found.values())


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project in which a script solves the first problem, with two rollouts a round."""
    if why := missing():
        pytest.skip(f"Pi cannot run: {why}")
    project = copy_project(tmp_path_factory.mktemp("recipe"))
    (project.root / "euler/pi/node_modules").symlink_to(PI / "node_modules")
    file = project.root / "euler/params.yaml"
    params = yaml.safe_load(file.read_text())
    params["policy"].update(kind="script", script="solving")
    params["fanout"].update(languages=["python"], rollouts=2, regression_problems=0)
    params["gate"].update(required=2)
    file.write_text(yaml.safe_dump(params, sort_keys=False))
    (project.root / "euler/climb/state.json").write_text("{}\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
        project.git(*command)
    yield project
    shutil.rmtree(project.root / ".dvc", ignore_errors=True)


def gate(project: Project) -> dict[str, object]:
    found: dict[str, object] = json.loads((project.root / "euler/metrics/gate.json").read_text())
    return found


@pytest.mark.timeout(400)
def test_two_rounds_unlock_the_next_problem_and_a_new_scorer_unlocks_nothing(recipe: Project) -> None:
    done = recipe.posttrain("euler", "climb", "--rounds", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "problem 1: passed, python 2/2, counted" in done.stdout
    assert "problem 1: passed, python 2/2, unlocked" in done.stdout
    assert "current problem: 2, with 0 consecutive passes" in done.stdout
    rounds = sorted(Path(recipe.root, "euler/rounds").iterdir())
    assert len(rounds) == 2
    sampled = [json.loads((folder / "manifest.json").read_text())["nonce"] for folder in rounds]
    assert len(set(sampled)) == 2, "a second round that repeats the first is no evidence"
    assert "climb-1-0" in recipe.dvc("exp", "list", "--name-only")

    scorer = recipe.root / "src/posttrain/euler/score.py"
    scorer.write_text(scorer.read_text() + "\n# another version\n")
    recipe.git("checkout", "-q", "euler/climb/state.json")
    before = (recipe.root / "euler/climb/state.json").read_text()
    said = recipe.dvc("repro", "--single-item", "euler/dvc.yaml:score")
    said += recipe.dvc("repro", "--single-item", "euler/dvc.yaml:gate")
    assert "evaluate.py" not in said
    judged = gate(recipe)
    assert (judged["origin"], judged["outcome"]) == ("replay", "void")
    assert (recipe.root / "euler/climb/state.json").read_text() == before
