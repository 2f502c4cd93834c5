"""How far a model has climbed: what a judged round does to the frontier. No files here, see `curriculum_file`."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from posttrain.errors import DataError
from posttrain.euler.gate import Outcome, Verdict
from posttrain.euler.manifest import Manifest
from posttrain.euler.plan import canonical_plan
from posttrain.euler.problems import Availability, Problem
from posttrain.euler.rounds import Round

VERSION = 1


@dataclass(frozen=True)
class Applied:
    """A round that has had its effect. unlocked: it was the last one that the next problem took."""

    round: str
    problem: int
    signature: str
    outcome: Outcome
    unlocked: bool


@dataclass(frozen=True)
class Mastered:
    """A problem that is behind. task_sha256: of what was asked. signature: of the model that passed in `rounds`."""

    problem: int
    task_sha256: str
    signature: str
    rounds: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """The climb through one source of problems, which begins at problem 1.

    condition: of the passes so far: model, scorer, tools, gate, fan-out and problem together; None without passes.
    passes: ids of the consecutive rounds that passed at `current`.
    """

    version: int
    problem_set: str
    current: int
    highest_mastered: int
    condition: str | None
    passes: tuple[str, ...]
    mastered: tuple[Mastered, ...]
    applied: tuple[Applied, ...]


Change = Literal["counted", "unlocked", "reset", "unchanged"]


def begin(problem_set: str) -> State:
    """The state before the first round."""
    return State(VERSION, problem_set, 1, 0, None, (), (), ())


def apply(state: State, finished: Round, verdict: Verdict) -> tuple[State, Change]:
    """The state after a round, and what the round did; one that was applied before, or is void, does nothing.

    Raises:
        DataError: the round is canonical and was not sampled for this state: another source of problems, another
            current problem, another plan than its settings ask for, or a mastered problem that has changed since.
    """
    manifest = finished.manifest
    if any(applied.round == finished.id for applied in state.applied):
        return state, "unchanged"
    if manifest.kind.mode != "canonical" or manifest.kind.origin != "live":
        return state, "unchanged"
    _check_fits(state, manifest)
    applied = Applied(finished.id, manifest.problem, manifest.signature.digest, verdict.outcome, unlocked=False)
    if verdict.outcome == "void":
        return replace(state, applied=(*state.applied, applied)), "unchanged"
    if verdict.outcome == "failed":
        return replace(state, condition=None, passes=(), applied=(*state.applied, applied)), "reset"
    condition = condition_of(manifest)
    passes = (*state.passes, finished.id) if condition == state.condition else (finished.id,)
    if len(passes) < manifest.gate.rounds:
        return replace(state, condition=condition, passes=passes, applied=(*state.applied, applied)), "counted"
    task = manifest.tasks[str(manifest.problem)]
    mastered = Mastered(state.current, task, manifest.signature.digest, passes)
    after = State(
        version=VERSION,
        problem_set=state.problem_set,
        current=state.current + 1,
        highest_mastered=state.current,
        condition=None,
        passes=(),
        mastered=(*state.mastered, mastered),
        applied=(*state.applied, replace(applied, unlocked=True)),
    )
    return after, "unlocked"


def condition_of(manifest: Manifest) -> str:
    """Hex SHA-256 of all that must be equal for passes to add up."""
    parts = [manifest.signature.digest, asdict(manifest.gate), asdict(manifest.fanout)]
    text = json.dumps([*parts, manifest.tasks[str(manifest.problem)]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def next_problem(state: State, problems: Mapping[int, Problem]) -> Problem:
    """The problem at the frontier; none is ever skipped.

    Raises:
        DataError: it cannot be given to an agent; the message says what to supply.
    """
    problem = problems.get(state.current)
    if problem is not None and problem.availability is Availability.AVAILABLE:
        return problem
    if problem is None and state.current > max(problems, default=0):
        raise DataError(f"all {state.highest_mastered} problems are mastered; prepare a source with more of them")
    raise DataError(f"the climb stops at problem {state.current}: {what_to_supply(problem)}")


def what_to_supply(problem: Problem | None) -> str:
    """What an unavailable problem lacks, and where to put it."""
    if problem is None or problem.availability is Availability.NO_PROMPT:
        return "its text is missing or broken; put its page into the archive and prepare again"
    if problem.availability is Availability.NO_ANSWER:
        return "its answer is missing; put it into the archive's answers and prepare again"
    if problem.availability is Availability.CONFLICT:
        return "two texts or answers contradict each other; leave the right one in the archive and prepare again"
    names = ", ".join(f"{problem.id}/{resource.name}" for resource in problem.missing)
    return f"put {names} into the folder problems.supplied, or set problems.fetch, and prepare again"


def _check_fits(state: State, manifest: Manifest) -> None:
    if manifest.problem_set != state.problem_set:
        raise DataError(
            f"the round is of the problems of {manifest.problem_set}, and the climb of those of {state.problem_set}; "
            "begin another climb with a state file of its own"
        )
    if manifest.problem != state.current:
        raise DataError(
            f"the round is at problem {manifest.problem}, and the climb at {state.current}; sample that one"
        )
    mastered = {each.problem: each.task_sha256 for each in state.mastered}
    if list(manifest.plan) != canonical_plan(state.current, list(mastered), manifest.fanout):
        raise DataError("the round's plan is not what its settings ask for at this state; sample a new round")
    planned = {each.problem for each in manifest.plan}
    if missing := sorted(number for number in planned if str(number) not in manifest.tasks):
        raise DataError(f"the round does not say what problem {missing[0]} was; sample a new round")
    for number in sorted(planned & set(mastered)):
        if manifest.tasks[str(number)] != mastered[number]:
            raise DataError(f"problem {number} is not the one that was mastered; restore its text, answer and files")
