"""Rounds with made-up results, written as a runner would."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from posttrain.euler.event_log import event_line
from posttrain.euler.events import Event, Failure
from posttrain.euler.generated import generate
from posttrain.euler.manifest import Manifest, RoundKind, new_manifest
from posttrain.euler.manifest_file import log_path, start_round
from posttrain.euler.plan import canonical_plan
from posttrain.euler.planned import Planned
from posttrain.euler.problem_set import ProblemSet, read_problem_set, write_problem_set
from posttrain.euler.problems import Problem
from posttrain.euler.rollouts import judged
from posttrain.euler.round_files import append_result
from posttrain.euler.round_receipt import finish_round
from posttrain.euler.rounds import Round
from posttrain.euler.settings import FanoutSettings, GateSettings
from posttrain.euler.signature import ModelSignature
from tests.euler.rollout_events import end, ran, wrote

LIVE = RoundKind("canonical", "live")
FANOUT = FanoutSettings(["python", "julia"], 4, 2, 1, ["derive", "readable"])
GATE = GateSettings(required=3, rounds=2, min_regression_rate=0.5)
SIGNATURE = ModelSignature("tiny", "r1", "local", "", ("python", "julia"), {"temperature": "1"}, *("abcd"))
FILES = {
    "python": ("solution.py", "python3"),
    "javascript": ("solution.js", "node"),
    "julia": ("solution.jl", "julia"),
}
Qualifies = Callable[[Planned], bool | None]


def problem_set(folder: Path) -> ProblemSet:
    if not (folder / "manifest.json").exists():
        write_problem_set(generate(0), folder)
    return read_problem_set(folder)


def manifest(problems: ProblemSet, current: int = 1, mastered: Sequence[int] = (), **changes: Any) -> Manifest:
    fanout = changes.pop("fanout", FANOUT)
    plan = changes.pop("plan", None) or canonical_plan(current, mastered, fanout)
    made = new_manifest(LIVE, current, plan, problems, SIGNATURE, fanout, changes.pop("gate", GATE), ())
    return replace(made, **changes)


def events(planned: Planned, answer: str, qualifies: bool | None) -> list[Event]:
    """A rollout that qualifies, prints something else, or (None) is lost."""
    if qualifies is None:
        return [Failure("provider", "status 429")]
    path, runtime = FILES[planned.language]
    printed = answer if qualifies else "no"
    return [wrote(path), ran(f"{runtime} {path}", stdout=f"{printed}\n"), end(f"It is {answer}.")]


def sample(folder: Path, problems: ProblemSet, made: Manifest, qualifies: Qualifies) -> None:
    """Begins a round and plays all its rollouts."""
    sample_by(folder, lambda planned: problems.problems[planned.problem], made, qualifies)


def sample_by(folder: Path, problem_of: Callable[[Planned], Problem], made: Manifest, qualifies: Qualifies) -> None:
    """As `sample`, of problems from anywhere."""
    start_round(folder, made)
    for planned in made.plan:
        problem = problem_of(planned)
        log = log_path(folder, planned)
        log.parent.mkdir(parents=True, exist_ok=True)
        lines = map(event_line, events(planned, str(problem.answer), qualifies(planned)))
        log.write_text("".join(lines), encoding="utf-8")
        append_result(folder, judged(planned, problem, log))


def played(
    folder: Path, problems: ProblemSet, made: Manifest, qualifies: Qualifies = lambda planned: planned.index < 3
) -> Round:
    """A finished round; by default three rollouts of each group qualify."""
    sample(folder, problems, made, qualifies)
    return finish_round(folder)
