import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.curriculum_file import apply_round, read_state
from posttrain.euler.gate import judge
from posttrain.euler.languages import language
from posttrain.euler.manifest import RoundKind
from posttrain.euler.manifest_file import read_manifest, start_round
from posttrain.euler.report import report
from posttrain.euler.report_text import report_markdown
from posttrain.euler.round_files import owed
from posttrain.euler.round_receipt import check_round, read_receipt, read_round
from posttrain.euler.settings import ReportSettings
from posttrain.euler.transfer import tasks
from posttrain.euler.transfer.frozen import FROZEN_SHA256, task_sha256
from posttrain.euler.transfer.manifest import transfer_lookup, transfer_plan, transfer_problem
from tests.euler import fake_rounds
from tests.euler.transfer.rounds import ALL, MODEL, SPREAD, manifest, played


def test_the_plan_is_every_task_in_every_language() -> None:
    plan = transfer_plan(SPREAD)
    assert len({planned.key for planned in plan}) == len(plan) == 4 * 3 * 2
    assert {(each.role, each.strategy) for each in plan} == {("transfer", "canonical")}
    assert plan[0].key == "transfer-1-python-canonical-0"
    assert {each.language for each in transfer_plan(replace(SPREAD, languages=["julia"]))} == {"julia"}


def test_the_manifest_is_of_the_frozen_suite_and_of_no_problem(tmp_path: Path) -> None:
    made = manifest(trained_on=(2, 1, 2))
    assert (made.kind, made.problem) == (RoundKind("transfer", "live"), 0)
    assert (made.problem_set, made.problems_sha256) == ("transfer-v1", FROZEN_SHA256)
    assert made.tasks == {str(number): task_sha256(number) for number in (1, 2, 3, 4)}
    assert made.trained_on == (1, 2)
    start_round(tmp_path, made)
    assert read_manifest(tmp_path) == made
    assert owed(tmp_path) == list(made.plan)
    assert manifest().nonce != made.nonce


def test_no_answer_is_in_the_manifest(tmp_path: Path) -> None:
    start_round(tmp_path, manifest())
    text = (tmp_path / "manifest.json").read_text()
    assert not [number for number in tasks.NAMES if tasks.task(number, "python").answer in text]


def test_a_round_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no runtime for julia"):
        manifest(signature=replace(MODEL, languages=("python", "javascript")))
    monkeypatch.setitem(tasks._TEMPLATES, 1, replace(tasks._TEMPLATES[1], answer="1"))
    with pytest.raises(DataError, match="transfer-v1 has SHA-256"):
        manifest()
    with pytest.raises(DataError, match="transfer-v1 has SHA-256"):
        transfer_lookup()


def test_a_round_is_finished_and_bound_like_any_other(tmp_path: Path) -> None:
    finished = played(tmp_path, qualifies=lambda planned: None if planned.problem == 4 else planned.index == 0)
    assert read_round(tmp_path) == finished
    assert check_round(tmp_path) == []
    receipt = read_receipt(tmp_path)
    assert (receipt.status, receipt.expected, receipt.completed, receipt.lost) == ("completed", 24, 18, 6)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["mode"], summary["problem"], summary["outcome"]) == ("transfer", 0, "void")
    (log,) = (tmp_path / "raw").glob("transfer-1-python-canonical-1.jsonl")
    log.write_text(log.read_text().replace('"no\\n"', f'"{tasks.task(1, "python").answer}\\n"'))
    with pytest.raises(DataError, match="not as it was left"):
        read_round(tmp_path)


def test_a_perfect_round_moves_no_frontier(tmp_path: Path) -> None:
    problems = fake_rounds.problem_set(tmp_path / "problems")
    state = tmp_path / "climb.json"
    verdict = judge(played(tmp_path / "transfer", qualifies=lambda _: True))
    assert (verdict.outcome, verdict.reasons) == ("void", ("a round in transfer mode unlocks nothing",))
    assert apply_round(state, tmp_path / "transfer")[1] == "unchanged"
    assert read_state(state) is None
    fake_rounds.played(tmp_path / "climbing", problems, fake_rounds.manifest(problems))
    assert apply_round(state, tmp_path / "climbing")[1] == "counted"
    before = state.read_bytes()
    assert apply_round(state, tmp_path / "transfer")[1] == "unchanged"
    assert state.read_bytes() == before


@pytest.mark.parametrize("problem", [0, 1])
def test_a_round_that_calls_itself_canonical_does_not_either(tmp_path: Path, problem: int) -> None:
    state = tmp_path / "climb.json"
    forged = manifest(kind=RoundKind("canonical", "live"), problem=problem)
    played(tmp_path / "transfer", forged, qualifies=lambda _: True)
    with pytest.raises(DataError, match="the round"):
        apply_round(state, tmp_path / "transfer")
    assert not state.exists()


def test_it_is_evidence_for_none_of_the_four_claims(tmp_path: Path) -> None:
    problems = fake_rounds.problem_set(tmp_path / "problems")
    climbing = fake_rounds.played(tmp_path / "climbing", problems, fake_rounds.manifest(problems))
    alone = report([climbing], None, ReportSettings(0.95))
    both = report([climbing, played(tmp_path / "transfer")], None, ReportSettings(0.95))
    for name in ("mastery", "forward_transfer", "regression", "generalization", "languages", "strategies"):
        assert both[name] == alone[name]
    assert both["left_out"] == alone["left_out"] | {"transfer": 24}
    assert "24 of the transfer suite" in report_markdown(both)


@pytest.mark.parametrize("name", ALL)
def test_rollouts_are_judged_by_the_task_of_their_language(name: str) -> None:
    for planned in transfer_plan(replace(SPREAD, languages=[name])):
        assert asdict(transfer_problem(planned)) == asdict(tasks.as_problem(tasks.task(planned.problem, name)))
    assert f"checksum{language(name).suffixes[0]}" in tasks.task(3, name).prompt
