from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.event_log import event_line
from posttrain.euler.events import Event, Failure, Inspection, Mutation
from posttrain.euler.planned import Planned
from posttrain.euler.problems import Availability, Problem
from posttrain.euler.rollouts import Rollout, judged
from tests.euler.rollout_events import ANSWER, end, good, ran, wrote

PLANNED = Planned(1, "python", "canonical", "current", 0)
PROBLEM = Problem(1, "How much?", ANSWER, Availability.AVAILABLE, (), None)


def judge(tmp_path: Path, events: list[Event], problem: Problem = PROBLEM) -> Rollout:
    (tmp_path / "e.jsonl").write_text("".join(map(event_line, events)), encoding="utf-8")
    return judged(PLANNED, problem, tmp_path / "e.jsonl")


def test_a_row_counts_what_happened(tmp_path: Path) -> None:
    calls: list[Event] = [Inspection("a.py", ok=False), Mutation("edit", "a.py", None, None), ran("ls", exit_code=2)]
    rollout = judge(tmp_path, [*calls, *good()])
    assert (rollout.tool_calls, rollout.tool_failures) == (5, 3)
    assert (rollout.tokens_in, rollout.tokens_out, rollout.seconds) == (100, 20, 2.0)
    assert rollout.qualified
    assert rollout.warnings == ()
    assert len(rollout.events_sha256) == 64


@pytest.mark.parametrize("source", [f"print({ANSWER})", f"x = '{ANSWER}'\nprint(x)"])
def test_a_constant_print_qualifies_and_is_warned_of(tmp_path: Path, source: str) -> None:
    rollout = judge(tmp_path, [wrote(source=source), ran(source=source), end()])
    assert rollout.qualified
    assert rollout.warnings == ("constant_print",)


def test_only_programs_that_printed_the_answer_are_looked_at(tmp_path: Path) -> None:
    other = wrote("other.py", f"print({ANSWER})")
    assert judge(tmp_path, [other, *good()]).warnings == ()


def test_an_answer_that_no_run_printed_is_warned_of(tmp_path: Path) -> None:
    assert judge(tmp_path, [wrote(), ran(stdout="44\n"), end()]).warnings == ("answer_without_run",)
    assert judge(tmp_path, [end()]).warnings == ("answer_without_run",)
    assert judge(tmp_path, [end("I do not know.")]).warnings == ()


def test_a_failure_has_no_score(tmp_path: Path) -> None:
    rollout = judge(tmp_path, [wrote(), Failure("sandbox", "no room")])
    assert rollout.score is None
    assert "the sandbox failed: no room" in str(rollout.failure)
    assert not rollout.qualified


def test_events_that_are_missing_or_torn_are_a_failure_too(tmp_path: Path) -> None:
    missing = judged(PLANNED, PROBLEM, tmp_path / "absent.jsonl")
    assert ("is missing" in str(missing.failure), missing.events_sha256) == (True, "")
    (tmp_path / "e.jsonl").write_text(event_line(wrote())[:-9])
    torn = judged(PLANNED, PROBLEM, tmp_path / "e.jsonl")
    assert ("torn" in str(torn.failure), len(torn.events_sha256)) == (True, 64)


def test_a_rollout_is_judged_by_its_own_problem(tmp_path: Path) -> None:
    for problem in (replace(PROBLEM, id=2), replace(PROBLEM, answer=None)):
        with pytest.raises(DataError, match="cannot be judged"):
            judge(tmp_path, good(), problem)
