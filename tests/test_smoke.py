"""The whole pipeline on the smoke profile through DVC, and what a change runs again."""

import csv
import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from posttrain.files import sha256_file
from tests.loopback.server import KEY, Loopback, serving
from tests.project import Project, copy_project
from tests.tiny import settings

ARMS = {"closed_book", "base", "sft", "grpo", "grpo_top1", "grpo_budget2"}
PRICES = {"prefill": 1.0, "cached": 0.2, "sample": 10.0, "train": 0.01}
CAP = 0.008
UP_TO_DATE = "Data and pipelines are up to date."


def metrics(project: Project, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.root / "metrics" / f"{name}.json").read_text())
    return found


def stages_run(output: str) -> set[str]:
    return set(re.findall(r"^Running stage '(.+)':", output, re.MULTILINE))


def append(path: Path, line: str) -> None:
    with path.open("a") as out:
        out.write(line + "\n")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository in which the whole pipeline has run once on the local engine."""
    project = copy_project(tmp_path_factory.mktemp("ran"))
    # One row at a time, as the loopback service computes: the rows of a batch change each other's last bits.
    project.set(engine={"batch_rows": 1})
    project.git("init", "-q")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "start")
    first = stages_run(project.dvc("repro"))
    assert {"prep", "index", "closed_book", "base", "sft", "grpo", "test@grpo_top1", "ablation", "report"} <= first
    return project


@pytest.mark.timeout(900)
def test_the_smoke_profile_from_end_to_end(ran: Project, tmp_path: Path) -> None:
    project = ran.copy(tmp_path)
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
    stale = set(json.loads(project.dvc("status", "--json")))
    assert "grpo" in stale
    assert not {"prep", "index", "base", "coldstart", "collect", "select_traces", "sft", "choose_sft"} & stale
    project.set(grpo={"lr": 1e-3})

    check_changed_scores(project)

    append(project.root / "prompts/research.md", "Be brief.")
    stale = set(json.loads(project.dvc("status", "--json")))
    assert {"base", "coldstart", "collect", "grpo", "test@base"} <= stale
    assert not {"prep", "index", "model", "closed_book", "score_closed_book", "test@closed_book"} & stale
    check_plan(project, ran, stale)


@pytest.mark.timeout(900)
def test_the_hosted_engine_makes_the_same_run_under_a_cap_with_receipts(ran: Project, tmp_path: Path) -> None:
    with serving(engine=settings(batch_rows=1)) as server:
        project = ran.copy(tmp_path, TINKER_BASE_URL=server.url, TINKER_API_KEY=KEY, TINKER_TELEMETRY="0")
        project.set(engine={"name": "tinker"}, prices={"model": "tiny", **PRICES})
        check_cap(project, server)
        project.dvc("repro")
        assert played(project) == played(ran)
        check_ledger(project, server)
        check_receipts(project)
        check_restore(project, server, tmp_path / "elsewhere")


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


def played(project: Project) -> dict[str, Any]:
    """All that a run made but what depends on names and prices: episodes by file, curves and scores."""
    found: dict[str, Any] = {}
    for path in sorted(project.root.glob("runs/**/episodes.jsonl")):
        found[str(path.relative_to(project.root))] = [
            {key: value for key, value in json.loads(line).items() if key != "cached"} for line in path.open()
        ]
    for path in sorted(project.root.glob("metrics/**/*.json")):
        found[str(path.relative_to(project.root))] = without_prices(json.loads(path.read_text()))
    for path in sorted(project.root.glob("metrics/curves/*.csv")):
        rows = list(csv.DictReader(path.open()))
        found[str(path.relative_to(project.root))] = [without_prices(row) for row in rows]
    assert len(found) > 20
    return found


def without_prices(value: Any) -> Any:
    if isinstance(value, dict):
        own = ("usd", "test_opened")  # the copied store knows that the first run has opened test
        return {key: without_prices(inner) for key, inner in value.items() if not key.startswith(own)}
    return value


def check_cap(project: Project, server: Loopback) -> None:
    """A cap stops collect in the middle before it is passed; a higher one goes on, and nothing is paid for twice."""
    project.set(budget={"usd": CAP, "check_estimate": False})
    stopped = project.python("-m", "dvc", "repro", "collect")
    assert stopped.returncode != 0
    assert f"error: collect: budget.usd is {CAP:g} and 0.00" in stopped.stderr
    assert "raise budget.usd in params.yaml and run `dvc repro` again" in stopped.stderr
    spent = ledger(project)
    assert CAP / 2 < sum(one["spending"]["usd"] for one in spent.values()) <= CAP
    assert spent["collect"]["spending"]["requests"] > 0
    project.set(budget={"usd": CAP, "check_estimate": True})
    asked = asked_for_samples(server)
    refused = project.python("-m", "dvc", "repro", "collect")
    assert "error: collect: it is estimated to cost" in refused.stderr
    assert asked_for_samples(server) == asked
    project.set(budget={"usd": 40.0})


def asked_for_samples(server: Loopback) -> int:
    return sum(number for path, number in server.counts().items() if path.endswith("/asample"))


def ledger(project: Project) -> dict[str, Any]:
    return {one["stage"]: one for one in json.loads(project.posttrain("ledger", "--json").stdout)}


def check_ledger(project: Project, server: Loopback) -> None:
    """Every request that the service answered is booked once, and none was made twice."""
    booked = ledger(project)
    updates = [row for name in ("coldstart", "sft") for row in curve(project, name)]
    updates += [row for row in curve(project, "grpo") if row["logprob_gap_mean"]]  # else every group was skipped
    assert sum(one["spending"]["requests"] for one in booked.values()) == asked_for_samples(server) + len(updates)
    for one in booked.values():
        tokens, usd = one["spending"]["tokens"], one["spending"]["usd"]
        kinds = (("prefill", "prefill"), ("sampled", "sample"), ("trained", "train"))
        assert usd * 1e6 == pytest.approx(sum(tokens[kind] * PRICES[price] for kind, price in kinds))


def curve(project: Project, name: str) -> list[dict[str, str]]:
    with (project.root / f"metrics/curves/{name}.csv").open() as rows:
        return list(csv.DictReader(rows))


def check_receipts(project: Project) -> None:
    """Every stage that was paid for left one; it names what it read and wrote, and what it took."""
    found = {path.stem: json.loads(path.read_text()) for path in (project.root / "receipts").glob("*.json")}
    assert {"closed_book", "base", "coldstart", "collect", "sft", "eval_sft@1", "grpo", "test@grpo_top1"} <= set(found)
    collect = found["collect"]
    assert collect["outputs"] == {
        "runs/collect/episodes.jsonl": sha256_file(project.root / "runs/collect/episodes.jsonl")
    }
    assert collect["inputs"]["prompts/research.md"] == sha256_file(project.root / "prompts/research.md")
    assert collect["usd"] == pytest.approx(ledger(project)["collect"]["spending"]["usd"], abs=1e-6)
    assert found["sft"]["tokens"]["trained"] > 0
    assert "tinker://" in found["sft"]["kept"]["models/sft/epoch-1/checkpoint.json"]
    assert KEY not in json.dumps(found)


def check_restore(project: Project, server: Loopback, folder: Path) -> None:
    """A fresh clone on another machine gets its pointers back for nothing, as long as the checkpoints are there."""
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "run")
    project.git("clone", "-q", ".", str(folder / "clone"))
    clone = Project(folder / "clone", {**project.environment, "POSTTRAIN_CACHE": str(folder / "cache")})
    asked = asked_for_samples(server)
    done = clone.posttrain("restore")
    assert (done.returncode, done.stderr) == (0, "")
    assert "receipts/grpo.json: restored" in done.stdout
    pointer = "models/sft/epoch-1/checkpoint.json"
    assert (clone.root / pointer).read_bytes() == (project.root / pointer).read_bytes()
    for phase in ("sft", "grpo"):
        best = f"models/{phase}_best/checkpoint.json"
        assert (clone.root / best).read_bytes() == (project.root / best).read_bytes()
    assert ledger(clone) == {}
    assert asked_for_samples(server) == asked
    server.forget(json.loads((clone.root / pointer).read_text())["saved"]["state"])
    shutil.rmtree(clone.root / "models")
    done = clone.posttrain("restore")
    assert done.returncode == 1
    assert "receipts/sft.json: its checkpoint is gone; `dvc repro` makes it again" in done.stdout
    assert not (clone.root / pointer).exists()


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
