"""The whole pipeline on the smoke profile through DVC, and what a change runs again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project

ARMS = {"closed_book", "base", "sft", "grpo", "grpo_top1", "grpo_budget2"}
UP_TO_DATE = "Data and pipelines are up to date."


def metrics(project: Project, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.root / "metrics" / f"{name}.json").read_text())
    return found


def stages_run(output: str) -> set[str]:
    return set(re.findall(r"^Running stage '(.+)':", output, re.MULTILINE))


def append(path: Path, line: str) -> None:
    with path.open("a") as out:
        out.write(line + "\n")


@pytest.mark.timeout(600)
def test_the_smoke_profile_from_end_to_end(project: Project) -> None:
    project.git("init", "-q")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "start")
    first = stages_run(project.dvc("repro"))
    assert {"prep", "index", "closed_book", "base", "sft", "grpo", "test@grpo_top1", "ablation", "report"} <= first
    check_results(project)
    changed = {line[3:] for line in project.git("status", "--porcelain").splitlines()}
    assert changed <= {"dvc.lock", "metrics/"}

    assert UP_TO_DATE in project.dvc("repro")

    drawn = project.samples()
    append(project.root / "src/posttrain/wiki/score.py", "# A scorer that says the same.")
    again = stages_run(project.dvc("repro"))
    assert {"score_base", "select_traces", "score_test@grpo", "grpo"} <= again
    assert not {"prep", "index", "model", "closed_book", "base", "collect", "sft", "test@grpo"} & again
    assert project.samples() == drawn

    append(project.root / "prompts/research.md", "Be brief.")
    stale = set(json.loads(project.dvc("status", "--json")))
    assert {"base", "coldstart", "collect", "grpo", "test@base"} <= stale
    assert not {"prep", "index", "model", "closed_book", "score_closed_book", "test@closed_book"} & stale


def check_results(project: Project) -> None:
    assert metrics(project, "prep")["counts"] == {"train": 60, "val": 6, "test": 8, "corpus": 60, "gold": 74}
    assert metrics(project, "index")["n"] == 6
    for station in ("closed_book", "base", "sft", "grpo"):
        found = metrics(project, station)
        assert found["n"] == 6
        assert 0 <= found["em"] <= found["f1"] <= 1
    ablation = metrics(project, "ablation")
    assert set(ablation["arms"]) == ARMS
    assert set(ablation["deltas"]) == ARMS - {"base"}
    assert all(arm["n"] == 8 and 0 <= arm["em"] <= 1 and 0 <= arm["f1"] <= 1 for arm in ablation["arms"].values())
    assert len((project.root / "metrics/ablation.md").read_text().strip().splitlines()) == 8
    assert (project.root / "metrics/learning_curve.png").read_bytes().startswith(b"\x89PNG")
    for folder in ("base", "coldstart", "sft_best", "grpo_best"):
        assert (project.root / "models" / folder / "checkpoint.json").exists()
