"""The command on a real repository: experiments that DVC ran, from its queue and in the workspace."""

import json
import os
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path

import pytest
from dvc.repo import Repo
from dvc.repo.experiments.run import run as run_experiment

from posttrain.cli import main

SCRIPT = """\
import json, sys, yaml
from pathlib import Path
params = yaml.safe_load(Path("params.yaml").read_text())
lr, right = float(params["grpo"]["lr"]), 10 + 2 * params["run"]["seed"]
if lr > 1:
    sys.exit("the learning rate is too high")
right += 20 if lr > 2e-4 else 0
Path("runs/grpo/5").mkdir(parents=True, exist_ok=True)
rows = [{"id": f"q{i}", "f1": float(i < right), "em": 1.0 if i else None} for i in range(40)]
Path("runs/grpo/5/scored.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))
Path("metrics").mkdir(exist_ok=True)
metrics = {"chosen_step": 5, "n": 40, "f1": right / 40, "em": 1.0, "usd": 0.5 + lr}
Path("metrics/grpo.json").write_text(json.dumps(metrics))
"""
PIPELINE = """\
stages:
  score:
    cmd: {python} make.py
    deps: [make.py]
    params: [run, grpo]
    outs: [runs/grpo/5/scored.jsonl]
    metrics: [{{metrics/grpo.json: {{cache: false}}}}]
  copy:
    cmd: cp metrics/grpo.json copied.json
    deps: [metrics/grpo.json]
    outs: [copied.json]
"""
PARAMS = """\
run: {seed: 0}
grpo: {lr: 1.0e-4}
budget: {usd: 40.0}
ablation: {resamples: 1000, confidence: 0.95, seed: 0}
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep")
    (root / "make.py").write_text(SCRIPT)
    (root / "dvc.yaml").write_text(PIPELINE.format(python=sys.executable))
    (root / "params.yaml").write_text(PARAMS)
    (root / ".gitignore").write_text("/runs/\n/copied.json\n")
    git(root, "init", "-q")
    git(root, "config", "user.name", "test")
    git(root, "config", "user.email", "test@localhost")
    Repo.init(str(root)).close()
    git(root, "add", "-A")
    git(root, "commit", "-qm", "base")
    # In this process, as the command line takes seconds; DVC reads params.yaml from the working directory.
    with chdir(root):
        for lr, seed in (("1e-4", 0), ("1e-4", 1), ("3e-4", 0)):
            with Repo() as repo:
                run_experiment(repo, params=[f"grpo.lr={lr}", f"run.seed={seed}"], tmp_dir=False)
    dvc(root, "exp", "run", "-q", "--queue", "-S", "grpo.lr=3e-4,9", "-S", "run.seed=1")
    dvc(root, "queue", "start", "-j", "2")
    wait(root)
    dvc(root, "exp", "run", "-q", "--queue", "-S", "grpo.lr=5e-4", "-S", "budget.usd=1")
    return root


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True)


def dvc(root: Path, *arguments: str) -> None:
    environment = {**os.environ, "DVC_NO_ANALYTICS": "1"}
    subprocess.run([sys.executable, "-m", "dvc", *arguments], cwd=root, env=environment, check=True)


def wait(root: Path) -> None:
    """Until the queue is empty and its workers are gone."""
    end = time.monotonic() + 120
    with Repo(str(root)) as repo:
        queue = repo.experiments.celery_queue
        while list(queue.iter_active()) or list(queue.iter_queued()):
            assert time.monotonic() < end
            time.sleep(0.2)
        queue.shutdown()  # idle workers would take what is queued next
        while queue.worker_status():
            assert time.monotonic() < end


@pytest.fixture
def here(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(repository)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return repository


def test_the_table_of_a_sweep(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--json", "--plot", "out/sweep.png"]) == 0
    made = json.loads(capsys.readouterr().out)
    base, better = made["configurations"]
    assert made["method"] == "two-way bootstrap over seeds and questions, differences paired by question"
    assert (base["label"], base["mean"], base["verdict"]) == ("grpo.lr=0.0001", pytest.approx(0.275), "baseline")
    assert (better["label"], better["seeds"], better["mean"]) == ("grpo.lr=0.0003", [0, 1], pytest.approx(0.775))
    assert (better["difference"]["mean"], better["verdict"]) == (pytest.approx(0.5), "real")
    assert (here / "out/sweep.png").read_bytes().startswith(b"\x89PNG")
    states = sorted((told.split(" ", 1)[1], why) for told, why in made["left_out"])
    assert states == [("(grpo.lr=0.0005 run.seed=0)", "queued"), ("(grpo.lr=9 run.seed=1)", "failed")]


def test_as_text_and_markdown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ARG001
    assert main(["sweep"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "configuration"
    assert lines[1].startswith("grpo.lr=0.0001  0, 1   0.275 [")
    assert lines[2].startswith("grpo.lr=0.0003  0, 1   0.775 [")
    assert lines[2].endswith("  real")
    assert [line.split(":")[0] for line in lines[3:]] == ["f1 on val; intervals", "note", "left out", "left out"]
    assert main(["sweep", "--md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "| --- | --- | --- | --- | --- | --- |"
    assert lines[2].startswith("| grpo.lr=0.0001 | 0, 1 | 0.275 [")


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("em", "has no em for every question"),
        ("usd", "has no usd for every question"),
        ("n", "has no n for every question"),
    ],
)
def test_numbers_that_are_not_per_question(
    metric: str, reason: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here.is_dir()
    assert main(["sweep", "--metric", metric]) == 0
    said = capsys.readouterr().out
    assert "intervals: Student's t over seeds" in said
    assert reason in said


def test_test_is_not_for_choosing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.is_dir()
    assert main(["sweep", "--on", "test"]) == 1
    assert capsys.readouterr().err.startswith("error: --on test: a sweep chooses on val")
    assert main(["sweep", "--on", "test", "--open-test"]) == 1
    assert "4 no metrics/test/grpo.json" in capsys.readouterr().err


def test_a_commit_that_is_not_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.is_dir()
    assert main(["sweep", "--rev", "nix"]) == 1
    assert "unknown Git revision 'nix'" in capsys.readouterr().err


def test_rows_that_are_not_in_the_cache(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / ".dvc/cache").rename(here / ".dvc/moved")
    try:
        assert main(["sweep"]) == 0
    finally:
        (here / ".dvc/moved").rename(here / ".dvc/cache")
    said = capsys.readouterr().out
    assert "because runs/grpo/5/scored.jsonl of " in said
    assert " is not in the DVC cache" in said
    assert "0.275 [" in said
