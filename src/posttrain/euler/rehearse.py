"""Goes through everything between a model's words and the frontier with scripts in the model's place.

Two rounds of an agent that solves the first problem must move the frontier; a round of eight ways not to must not.
Pi, the sandbox, the scorer, the gate and the receipts are the real ones.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from posttrain.euler.agent.settings import PolicySettings
from posttrain.euler.agent.speaker import scripted_speaker
from posttrain.euler.curriculum_file import apply_round, read_state
from posttrain.euler.evaluate import Conditions, evaluate, given_by, signature
from posttrain.euler.generated import generate
from posttrain.euler.manifest import RoundKind, new_manifest
from posttrain.euler.manifest_file import log_path
from posttrain.euler.memorized import CONSTANT_PRINT
from posttrain.euler.plan import canonical_plan
from posttrain.euler.problem_set import ProblemSet, read_problem_set, write_problem_set
from posttrain.euler.proxy.cases import PROBLEM, case_of
from posttrain.euler.rollouts import Rollout, judged
from posttrain.euler.round_files import RESULTS, append_result
from posttrain.euler.round_receipt import RECEIPT, finish_round, read_round

_AXES = ("mutated", "executed", "exit_zero", "output", "reply")
EXPECTED: dict[str, tuple[bool, str]] = {
    "solving": (True, ""),
    "constant": (True, "warned"),
    "inline": (False, "executed"),
    "wrong_file": (False, "executed"),
    "forged": (False, "exit_zero"),
    "failing": (False, "exit_zero"),
    "escaping": (False, "escapes"),
    "prose": (False, "mutated"),
    "giving_up": (False, "output"),
}
"""Whether each case qualifies, and the first thing that it lacks."""


_ROUNDS = (
    ("first", "solving", "climb.json"),
    ("second", "solving", "climb.json"),
    ("cases", "cases", "cases.json"),
)
"""Folder, script, and the state that the round is applied to."""


@dataclass(frozen=True)
class Judgement:
    """A rollout of the round that must not pass. right: it was judged as `EXPECTED` says."""

    case: str
    language: str
    qualified: bool
    found: str
    right: bool


@dataclass(frozen=True)
class Rehearsal:
    """rounds: what each did to the frontier, in order. current: the problem that the climb stands at after it."""

    rounds: tuple[tuple[str, str, str], ...]
    judgements: tuple[Judgement, ...]
    current: int

    @property
    def right(self) -> bool:
        """Whether everything came out as it must."""
        outcomes = [(outcome, change) for _, outcome, change in self.rounds]
        wanted = [("passed", "counted"), ("passed", "unlocked"), ("failed", "reset")]
        return outcomes == wanted and self.current == PROBLEM + 1 and all(each.right for each in self.judgements)


def rehearse(conditions: Conditions, policy: PolicySettings, folder: Path) -> Rehearsal:
    """Three rounds under `folder`, in which a rehearsal that was cut short is gone on with."""
    write_problem_set(generate(0), folder / "problems")
    problems = read_problem_set(folder / "problems")
    conditions = replace(conditions, fanout=replace(conditions.fanout, regression_problems=0))
    rounds: list[tuple[str, str, str]] = []
    for place, script, state in _ROUNDS:
        finished = _round(conditions, replace(policy, kind="script", script=script), problems, folder / place)
        _, change, verdict = apply_round(folder / state, finished)
        rounds.append((place, verdict.outcome, change))
    climbed = read_state(folder / "climb.json")
    judgements = tuple(map(_judgement, read_round(folder / "cases").rollouts))
    return Rehearsal(tuple(rounds), judgements, climbed.current if climbed else PROBLEM)


def _round(conditions: Conditions, policy: PolicySettings, problems: ProblemSet, folder: Path) -> Path:
    """A finished round in `folder`, which is returned."""
    if (folder / RECEIPT).exists():
        return folder
    plan = canonical_plan(PROBLEM, [], conditions.fanout)
    with scripted_speaker(policy) as speaker:
        asked = new_manifest(
            RoundKind("canonical", "live"), PROBLEM, plan, problems, signature(speaker, conditions), conditions.fanout,
            conditions.gate, [],
        )  # fmt: skip
        evaluate(folder, asked, folder.name, conditions, speaker, given_by(problems))
    (folder / RESULTS).unlink(missing_ok=True)
    for planned in plan:
        append_result(folder, judged(planned, problems.problems[planned.problem], log_path(folder, planned)))
    finish_round(folder)
    return folder


def _judgement(rollout: Rollout) -> Judgement:
    case = case_of(rollout.planned)
    score = rollout.score
    lacking = [axis for axis in _AXES if score is not None and not getattr(score, axis)]
    if score is not None and score.escapes:
        found = "escapes"
    elif lacking:
        found = lacking[0]
    else:
        found = "warned" if CONSTANT_PRINT in rollout.warnings else ""
    right = (rollout.qualified, found) == EXPECTED[case]
    return Judgement(case, rollout.planned.language, rollout.qualified, found, right)
