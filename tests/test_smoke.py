"""The whole pipeline on the smoke profile through DVC, and what a change runs again."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project
from tests.smoke import curve, ledger

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


@pytest.mark.timeout(900)
def test_the_smoke_profile_from_end_to_end(ran: Callable[[], Project], tmp_path: Path) -> None:
    first = ran()
    project = first.copy(tmp_path)
    check_results(project)
    changed = {line[3:] for line in project.git("status", "--porcelain").splitlines()}
    assert changed <= {"dvc.lock", "metrics/", "report.md"}

    assert UP_TO_DATE in project.dvc("repro")

    drawn = project.samples()
    append(project.root / "src/posttrain/wiki/score.py", "# A scorer that says the same.")
    again = stages_run(project.dvc("repro"))
    assert {"score_base", "select_traces", "score_test@grpo", "grpo"} <= again
    assert not {"prep", "index", "model", "closed_book", "base", "collect", "sft", "test@grpo"} & again
    assert project.samples() == drawn

    project.set(grpo={"lr": 2e-3})
    stale = set(json.loads(project.dvc("status", "--json", "dvc.yaml")))
    assert "grpo" in stale
    assert not {"prep", "index", "base", "coldstart", "collect", "select_traces", "sft", "choose_sft"} & stale
    project.set(grpo={"lr": 1e-3})

    check_changed_scores(project)

    append(project.root / "prompts/research.md", "Be brief.")
    stale = set(json.loads(project.dvc("status", "--json", "dvc.yaml")))
    assert {"base", "coldstart", "collect", "grpo", "test@base"} <= stale
    assert not {"prep", "index", "model", "closed_book", "score_closed_book", "test@closed_book"} & stale
    check_plan(project, first, stale)


def check_changed_scores(project: Project) -> None:
    """A scorer that gives other scores: nothing is drawn from a policy that was there before, not even by GRPO."""
    drawn, curve_before = samples_by_policy(project), curve(project, "grpo")
    scorer = project.root / "src/posttrain/wiki/score.py"
    strict = "return max(token_overlap(prediction, answer).f1 for answer in _checked(answers))"
    changed = "return len(prediction) % 7 / 7 if _checked(answers) else 0.0"
    before = scorer.read_text()
    assert strict in before
    scorer.write_text(before.replace(strict, changed))
    again = stages_run(project.dvc("repro", "grpo"))
    assert "grpo" in again
    assert not {"closed_book", "base", "coldstart", "collect"} & again
    now = samples_by_policy(project)
    assert {policy: now[policy] for policy in drawn} == drawn
    assert len(now) > len(drawn)
    assert curve(project, "grpo")[0]["reward"] != curve_before[0]["reward"]
    scorer.write_text(before)


def samples_by_policy(project: Project) -> dict[str, int]:
    connection = sqlite3.connect(project.store)
    try:
        return dict(connection.execute("SELECT policy, count(*) FROM samples GROUP BY policy").fetchall())
    finally:
        connection.close()


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
    report = (project.root / "report.md").read_text()
    assert (project.root / "metrics/ablation.md").read_text().strip() in report
    assert report.count(" after Holm).") == 4
    page = (project.root / "report.html").read_text()
    assert all(f'id="traces-{arm}-0"' in page for arm in ARMS)
    for folder in ("base", "coldstart", "sft_best", "grpo_best"):
        assert (project.root / "models" / folder / "checkpoint.json").exists()


def check_plan(project: Project, ran: Project, stale: set[str]) -> None:
    """The plan follows the change to the end of the pipeline, knows what stages took, and the ledger agrees."""
    lines = project.posttrain("plan", "--why").stdout.splitlines()
    assert lines[0].split() == ["stage", "tokens", "USD", "paid", "time", "because"]
    planned = {line.split()[0]: line for line in lines[1:-1]}
    assert stale | {"score_test@grpo_budget2", "ablation", "report"} <= set(planned)
    assert not {"prep", "index", "model", "closed_book", "test@closed_book"} & set(planned)
    assert "prompts/research.md" in planned["collect"]
    assert "after grpo" in planned["choose_grpo"]
    assert lines[-1] == "at most 0.00 USD more; 0.00 of budget.usd 40 are spent"
    tokens = ledger(ran)["collect"]["spending"]["tokens"]
    total = tokens["prefill"] + tokens["sampled"] + tokens["trained"]
    assert f"{total:,}" in planned["collect"]  # measured, so without a ~
    assert "nothing to restore" in project.posttrain("restore").stdout
