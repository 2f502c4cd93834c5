"""The whole pipeline on the hosted engine, against a service on loopback that computes with the local one."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posttrain.files import sha256_file
from tests.loopback.server import KEY, Loopback, serving
from tests.project import Project
from tests.smoke import committed, curve, ledger
from tests.tiny import settings

PRICES = {"prefill": 1.0, "cached": 0.2, "sample": 10.0, "train": 0.01}
CAP = 0.008


@pytest.mark.timeout(900)
def test_the_hosted_engine_makes_the_same_run_under_a_cap_with_receipts(
    ran: Callable[[], Project], tmp_path: Path
) -> None:
    with serving(engine=settings(batch_rows=1)) as server:
        own = {"TINKER_BASE_URL": server.url, "TINKER_API_KEY": KEY, "TINKER_TELEMETRY": "0"}
        copied = committed(tmp_path)
        project = Project(copied.root, {**copied.environment, **own})
        project.set(engine={"name": "tinker"}, prices={"model": "tiny", **PRICES})
        check_cap(project, server)
        project.dvc("repro")
        local = ran()  # made by another worker meanwhile
        assert played(project) == played(local)
        check_ledger(project, server)
        check_receipts(project)
        check_restore(project, server, tmp_path / "elsewhere")


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
        own = ("usd", "test_opened")
        return {key: without_prices(inner) for key, inner in value.items() if not key.startswith(own)}
    return value
