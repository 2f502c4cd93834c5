import json
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.curriculum_file import apply_round, read_state
from posttrain.euler.gate import judge
from posttrain.euler.manifest import RoundKind
from posttrain.euler.manifest_file import log_path, start_round
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.replay import REPLAY, Lookup, changes, problem_lookup, replay
from posttrain.euler.report import report
from posttrain.euler.rollouts import Rollout, failed
from posttrain.euler.round_files import append_result, read_results
from posttrain.euler.round_receipt import check_round, finish_round, read_round
from posttrain.euler.rounds import Round
from posttrain.euler.settings import ReportSettings
from posttrain.euler.signature import code_sha256
from posttrain.euler.transfer.manifest import transfer_lookup
from posttrain.euler.transfer.report import transfer_report
from tests.euler.fake_rounds import Qualifies, manifest, played, problem_set, sample
from tests.euler.transfer import rounds as transfer


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> ProblemSet:
    return problem_set(tmp_path_factory.mktemp("problems"))


def scored_wrongly(folder: Path, problems: ProblemSet, qualifies: Qualifies = lambda _: True) -> Round:
    """A round whose scorer saw no output at all: what really qualified did not."""
    made = manifest(problems)
    sample(folder / "right", problems, made, qualifies)
    start_round(folder / "wrong", made)
    (folder / "right/raw").rename(folder / "wrong/raw")
    for rollout in read_results(folder / "right"):
        append_result(folder / "wrong", blind(rollout))
    return finish_round(folder / "wrong")


def blind(rollout: Rollout) -> Rollout:
    return rollout if rollout.score is None else replace(rollout, score=replace(rollout.score, output=False))


def test_old_events_are_scored_by_the_scorer_of_today(tmp_path: Path, problems: ProblemSet) -> None:
    source = scored_wrongly(tmp_path, problems, lambda planned: planned.index != 3)
    assert judge(source).outcome == "failed"
    found = replay(tmp_path / "wrong", tmp_path / "out", problem_lookup(problems))
    assert read_round(tmp_path / "out") == found
    assert [each.qualified for each in found.rollouts] == [each.planned.index != 3 for each in source.rollouts]
    manifested = found.manifest
    assert manifested.kind == RoundKind("canonical", "replay")
    today = code_sha256("posttrain.euler.score")
    assert manifested.signature == replace(source.manifest.signature, scorer_sha256=today)
    assert (manifested.plan, manifested.tasks) == (source.manifest.plan, source.manifest.tasks)
    assert found.id != source.id
    for planned in manifested.plan:
        copied = log_path(tmp_path / "out", planned).read_bytes()
        assert copied == log_path(tmp_path / "wrong", planned).read_bytes()
    assert read_round(tmp_path / "wrong") == source


def test_differences_are_given_row_by_row_and_bound_by_the_receipt(tmp_path: Path, problems: ProblemSet) -> None:
    source = scored_wrongly(tmp_path, problems, lambda planned: planned.index != 3)
    found = replay(tmp_path / "wrong", tmp_path / "out", problem_lookup(problems))
    told = json.loads((tmp_path / "out" / REPLAY).read_text())
    assert (told["source"], told["rollouts"]) == (source.id, 8)
    assert (told["scorer_before"], told["scorer_after"]) == ("a", code_sha256("posttrain.euler.score"))
    assert [each["key"] for each in told["changed"]] == [
        each.planned.key for each in source.rollouts if each.planned.index != 3
    ]
    before, after = told["changed"][0]["before"], told["changed"][0]["after"]
    assert {name for name in before if before[name] != after[name]} == {"qualified", "output"}
    assert (before["output"], after["output"]) == (False, True)
    assert [vars(each) for each in changes(source.rollouts, found.rollouts)] == told["changed"]
    (tmp_path / "out" / REPLAY).write_text("{}")
    assert [line.split()[0] for line in check_round(tmp_path / "out")] == [REPLAY]


def test_the_same_scorer_changes_nothing(tmp_path: Path, problems: ProblemSet) -> None:
    source = played(tmp_path / "source", problems, manifest(problems))
    found = replay(tmp_path / "source", tmp_path / "out", problem_lookup(problems))
    assert found.rollouts == source.rollouts
    assert json.loads((tmp_path / "out" / REPLAY).read_text())["changed"] == []
    again = replay(tmp_path / "out", tmp_path / "again", problem_lookup(problems))
    assert again.rollouts == source.rollouts
    assert again.manifest.kind.origin == "replay"


def test_a_replay_never_moves_the_frontier(tmp_path: Path, problems: ProblemSet) -> None:
    """Even where the source is a failed round that passes now, and one more pass would unlock the next problem."""
    state = tmp_path / "climb.json"
    source = scored_wrongly(tmp_path, problems)
    found = replay(tmp_path / "wrong", tmp_path / "out", problem_lookup(problems))
    assert all(rollout.qualified for rollout in found.rollouts)
    verdict = judge(found)
    assert verdict.outcome == "void"
    assert verdict.reasons == ("a replayed round unlocks nothing; sample a new one with the scorer as it is now",)
    assert apply_round(state, tmp_path / "out")[1] == "unchanged"
    assert read_state(state) is None
    played(tmp_path / "first", problems, manifest(problems))
    assert apply_round(state, tmp_path / "first")[1] == "counted"
    before = state.read_bytes()
    for _ in range(3):
        assert apply_round(state, tmp_path / "out")[1] == "unchanged"
    assert state.read_bytes() == before
    assert apply_round(state, tmp_path / "wrong")[1] == "reset"
    after = read_state(state)
    assert after is not None
    assert (after.current, after.highest_mastered, after.passes) == (1, 0, ())
    assert [applied.round for applied in after.applied][1:] == [source.id]


def test_a_replay_that_calls_itself_live_is_found_out(tmp_path: Path, problems: ProblemSet) -> None:
    scored_wrongly(tmp_path, problems)
    replay(tmp_path / "wrong", tmp_path / "out", problem_lookup(problems))
    path = tmp_path / "out/manifest.json"
    path.write_text(path.read_text().replace('"replay"', '"live"'))
    with pytest.raises(DataError, match=r"manifest\.json has SHA-256"):
        apply_round(tmp_path / "climb.json", tmp_path / "out")
    assert not (tmp_path / "climb.json").exists()


def test_a_replay_is_evidence_for_no_claim(tmp_path: Path, problems: ProblemSet) -> None:
    scored_wrongly(tmp_path, problems)
    found = replay(tmp_path / "wrong", tmp_path / "out", problem_lookup(problems))
    result = report([found], None, ReportSettings(0.95))
    assert result["left_out"]["replayed"] == 8
    assert result["forward_transfer"]["models"] == []


def test_lost_rollouts_stay_lost(tmp_path: Path, problems: ProblemSet) -> None:
    made = manifest(problems)
    start_round(tmp_path / "source", made)
    for planned in made.plan:
        append_result(tmp_path / "source", failed(planned, "the provider is down"))
    source = finish_round(tmp_path / "source")
    assert replay(tmp_path / "source", tmp_path / "out", problem_lookup(problems)).rollouts == source.rollouts
    played(tmp_path / "told", problems, manifest(problems), lambda planned: True if planned.index else None)
    found = replay(tmp_path / "told", tmp_path / "out2", problem_lookup(problems))
    assert [rollout.failure is None for rollout in found.rollouts] == [bool(r.planned.index) for r in found.rollouts]
    assert json.loads((tmp_path / "out2" / REPLAY).read_text())["changed"] == []


def test_a_loss_that_changes_is_told(problems: ProblemSet, tmp_path: Path) -> None:
    done = played(tmp_path, problems, manifest(problems)).rollouts
    lost = (failed(done[0].planned, "status 429"), *done[1:])
    (change,) = changes(lost, done)
    assert (change.key, change.before) == (done[0].planned.key, {"failure": "status 429"})
    assert (change.after["failure"], change.after["qualified"]) == (None, True)
    with pytest.raises(DataError, match="not the same rollouts"):
        changes(done[1:], done)


def test_a_source_that_is_not_as_it_was_left_is_refused(tmp_path: Path, problems: ProblemSet) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    finished = played(source, problems, manifest(problems))
    log = log_path(source, finished.manifest.plan[-1])
    content = log.read_text()
    for changed in (content.replace("no\\n", "45\\n"), content[:-9], ""):
        log.write_text(changed)
        with pytest.raises(DataError, match=f"raw/{log.name} has SHA-256"):
            replay(source, out, problem_lookup(problems))
    log.unlink()
    with pytest.raises(DataError, match=f"raw/{log.name} is missing"):
        replay(source, out, problem_lookup(problems))
    log.write_text(content)
    (source / "receipt.json").unlink()
    with pytest.raises(DataError, match="was interrupted"):
        replay(source, out, problem_lookup(problems))
    assert not out.exists()


def test_other_problems_and_a_folder_in_use_are_refused(tmp_path: Path, problems: ProblemSet) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    played(source, problems, manifest(problems, 2, (1,)))
    whole = problem_lookup(problems)
    other = replace(problems.problems[2], answer="1")
    changed = problem_lookup(replace(problems, problems={**problems.problems, 2: other}))
    missing = Lookup({number: task for number, task in whole.tasks.items() if number != 1}, whole.problem)
    for lookup, number in ((changed, 2), (missing, 1), (transfer_lookup(), 1)):
        with pytest.raises(DataError, match=f"problem {number} has SHA-256 .* give the problems of"):
            replay(source, out, lookup)
    out.mkdir()
    for place in (out, source):
        with pytest.raises(DataError, match="exists already"):
            replay(source, place, whole)
    assert list(out.iterdir()) == []


def test_transfer_rounds_are_replayed_too(tmp_path: Path) -> None:
    source = transfer.played(tmp_path / "source")
    found = replay(tmp_path / "source", tmp_path / "out", transfer_lookup())
    assert found.manifest.kind == RoundKind("transfer", "replay")
    assert found.rollouts == source.rollouts
    result = transfer_report(found, 0.95)
    assert (result["origin"], result["total"]["n"]) == ("replay", 24)
    assert apply_round(tmp_path / "climb.json", tmp_path / "out")[1] == "unchanged"
    assert not (tmp_path / "climb.json").exists()
