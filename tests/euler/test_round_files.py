import json
import os
import signal
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from posttrain.errors import DataError, StoreError
from posttrain.euler.manifest import new_manifest
from posttrain.euler.manifest_file import read_manifest, round_id, start_round
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.problems import Availability
from posttrain.euler.rollouts import Rollout, failed
from posttrain.euler.round_files import append_result, owed, read_results
from posttrain.euler.round_receipt import check_round, fail_round, finish_round, read_receipt, read_round
from posttrain.files import sha256_file
from tests.euler.fake_rounds import FANOUT, GATE, LIVE, SIGNATURE, manifest, played, problem_set, sample


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> ProblemSet:
    return problem_set(tmp_path_factory.mktemp("problems"))


def begun(folder: Path, problems: ProblemSet, rows: int = 0) -> list[Rollout]:
    """A round with its first rows, which a runner was killed over."""
    made = manifest(problems)
    start_round(folder, made)
    results = [failed(planned, "status 429") for planned in made.plan]
    for rollout in results[:rows]:
        append_result(folder, rollout)
    return results


def test_the_manifest_is_there_before_the_first_sample(tmp_path: Path, problems: ProblemSet) -> None:
    made = manifest(problems)
    number = start_round(tmp_path, made)
    assert read_manifest(tmp_path) == made
    assert number == sha256_file(tmp_path / "manifest.json") == round_id(tmp_path)
    assert os.listdir(tmp_path) == ["manifest.json"]
    assert start_round(tmp_path, made) == number
    with pytest.raises(DataError, match="holds another round already"):
        start_round(tmp_path, manifest(problems))


def test_a_round_needs_a_plan(tmp_path: Path, problems: ProblemSet) -> None:
    made = manifest(problems)
    for plan in ((), (made.plan[0], made.plan[0])):
        with pytest.raises(DataError, match="each planned once"):
            start_round(tmp_path, replace(made, plan=plan))


def test_a_finished_round_is_bound_by_its_receipt(tmp_path: Path, problems: ProblemSet) -> None:
    finished = played(tmp_path, problems, manifest(problems))
    assert read_round(tmp_path) == finished
    assert check_round(tmp_path) == []
    receipt = read_receipt(tmp_path)
    assert (receipt.status, receipt.expected, receipt.completed, receipt.lost) == ("completed", 8, 8, 0)
    assert receipt.sha256["results.jsonl"] == sha256_file(tmp_path / "results.jsonl")
    assert {"manifest.json", "summary.json"} < set(receipt.sha256)
    assert len(receipt.sha256) == 3 + 8
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["outcome"], summary["tokens_out"], summary["tool_calls"]) == ("passed", 160, 16)
    with pytest.raises(DataError, match="finished before"):
        finish_round(tmp_path)


def test_a_check_names_all_that_differs(tmp_path: Path, problems: ProblemSet) -> None:
    played(tmp_path, problems, manifest(problems))
    raw = sorted((tmp_path / "raw").iterdir())
    raw[0].unlink()
    raw[1].write_text("{}\n")
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "raw/more.jsonl").write_text("")
    differing = check_round(tmp_path)
    assert len(differing) == 4
    assert f"raw/{raw[0].name} is missing" in differing
    assert "raw/more.jsonl is not in the receipt" in differing
    assert any(line.startswith(f"raw/{raw[1].name} has SHA-256") for line in differing)
    assert any(line.startswith("summary.json has SHA-256") for line in differing)
    with pytest.raises(DataError, match=r"not as it was left: .* and 3 more"):
        read_round(tmp_path)


def test_a_changed_manifest_is_found_out(tmp_path: Path, problems: ProblemSet) -> None:
    played(tmp_path, problems, manifest(problems))
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"required": 3', '"required": 1'))
    assert [line.split()[0] for line in check_round(tmp_path)] == ["manifest.json"]


def test_a_receipt_mended_by_hand_is_found_out(tmp_path: Path, problems: ProblemSet) -> None:
    played(tmp_path, problems, manifest(problems))
    (log,) = list((tmp_path / "raw").glob("current-1-python-canonical-3.jsonl"))
    log.write_text(log.read_text().replace("no\\n", "45\\n"))
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    receipt["sha256"][f"raw/{log.name}"] = sha256_file(log)
    (tmp_path / "receipt.json").write_text(json.dumps(receipt))
    assert check_round(tmp_path) == [f"raw/{log.name} is not what rollout current-1-python-canonical-3 was scored by"]


def test_partial_results_of_a_failed_round_are_kept_and_hashed(tmp_path: Path, problems: ProblemSet) -> None:
    results = begun(tmp_path, problems, rows=3)
    with (tmp_path / "results.jsonl").open("ab") as torn:
        torn.write(b'{"planned": {"pro')
    fail_round(tmp_path, "the provider is down")
    assert read_results(tmp_path) == results[:3]
    receipt = read_receipt(tmp_path)
    assert (receipt.status, receipt.error, receipt.lost) == ("failed", "the provider is down", 3)
    assert receipt.sha256["results.jsonl"] == sha256_file(tmp_path / "results.jsonl")
    assert check_round(tmp_path) == []
    with pytest.raises(DataError, match="broke off: the provider is down"):
        read_round(tmp_path)


def test_an_interrupted_round_goes_on_where_it_stopped(tmp_path: Path, problems: ProblemSet) -> None:
    made = manifest(problems)
    sample(tmp_path / "whole", problems, made, lambda planned: None if planned.index == 1 else True)
    whole = (tmp_path / "whole/results.jsonl").read_bytes().splitlines(keepends=True)
    start_round(tmp_path / "cut", made)
    (tmp_path / "cut/results.jsonl").write_bytes(b"".join(whole[:3]) + whole[3][:40])
    with pytest.raises(DataError, match="the round was interrupted"):
        read_round(tmp_path / "cut")
    due = owed(tmp_path / "cut")
    assert [planned.index for planned in due] == [1, 3, 0, 1, 2, 3]
    complete = [rollout for rollout in read_results(tmp_path / "whole") if rollout.failure is None]
    again = next(rollout for rollout in complete if rollout.planned == due[1])
    append_result(tmp_path / "cut", again)
    assert read_results(tmp_path / "cut")[-1] == again
    assert [planned.index for planned in owed(tmp_path / "cut")] == [1, 0, 1, 2, 3]
    with pytest.raises(DataError, match="is missing"):
        finish_round(tmp_path / "cut")
    append_result(tmp_path / "cut", again)
    with pytest.raises(DataError, match="was complete before"):
        read_results(tmp_path / "cut")


def test_a_kill_between_rows_loses_at_most_the_last(tmp_path: Path, problems: ProblemSet) -> None:
    results = begun(tmp_path, problems)
    pid = os.fork()
    if pid == 0:
        for rollout in results:
            append_result(tmp_path, rollout)
            if rollout is results[4]:
                os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert read_results(tmp_path) == results[:5]


def test_rows_that_do_not_belong_there_are_refused(tmp_path: Path, problems: ProblemSet) -> None:
    results = begun(tmp_path, problems)
    bad = [
        (replace(results[0], planned=replace(results[0].planned, index=50)), "not planned"),
        (replace(results[0], failure=None), "either a score or a failure"),
    ]
    for rollout, why in bad:
        (tmp_path / "results.jsonl").write_text(json.dumps(asdict(rollout)) + "\n")
        with pytest.raises(DataError, match=why):
            read_results(tmp_path)
    (tmp_path / "results.jsonl").write_text('{"planned": 5}\n')
    with pytest.raises(DataError, match=r"results\.jsonl:1: "):
        read_results(tmp_path)
    (tmp_path / "results.jsonl").write_text("{\n")
    with pytest.raises(DataError, match=r"results\.jsonl:1: not valid JSON"):
        read_results(tmp_path)


def test_a_full_disk_is_told(tmp_path: Path, problems: ProblemSet) -> None:
    results = begun(tmp_path, problems)
    with pytest.raises(StoreError, match="cannot write"):
        append_result(tmp_path / "absent", results[0])


def test_a_round_is_refused_before_it_is_sampled(problems: ProblemSet) -> None:
    made = manifest(problems)
    signature = replace(SIGNATURE, languages=("python",))
    with pytest.raises(DataError, match="no runtime for julia"):
        new_manifest(LIVE, 1, made.plan, problems, signature, FANOUT, GATE, ())
    lacking = {**problems.problems, 1: replace(problems.problems[1], availability=Availability.NO_ANSWER)}
    for found in (lacking, {}):
        with pytest.raises(DataError, match="problem 1 is planned and not available"):
            new_manifest(LIVE, 1, made.plan, replace(problems, problems=found), SIGNATURE, FANOUT, GATE, ())


def test_two_rounds_alike_are_two_rounds(tmp_path: Path, problems: ProblemSet) -> None:
    ids = {played(tmp_path / name, problems, manifest(problems)).id for name in "ab"}
    assert len(ids) == 2
