"""Goes through everything between a model's words and the frontier with scripts in the model's place.

Two rounds of an agent that solves the first problem must move the frontier; a round of eight ways not to must not.
Pi, the sandbox, the scorer, the gate and the receipts are the real ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from posttrain.euler.agent.settings import AgentSettings, PolicySettings
from posttrain.euler.agent.speaker import scripted_speaker
from posttrain.euler.curriculum import begin as begin_climb
from posttrain.euler.curriculum_file import apply_round, read_state
from posttrain.euler.evaluate import Machine, assignments, begin, sample, signature
from posttrain.euler.generated import generate
from posttrain.euler.memorized import CONSTANT_PRINT
from posttrain.euler.plan import canonical_plan
from posttrain.euler.problem_set import ProblemSet, read_problem_set, write_problem_set
from posttrain.euler.proxy.cases import PROBLEM, case_of
from posttrain.euler.rollouts import Rollout, judged
from posttrain.euler.round_files import append_result, log_path
from posttrain.euler.round_receipt import finish_round, read_round
from posttrain.euler.rounds import Round, RoundKind, new_manifest
from posttrain.euler.settings import FanoutSettings, GateSettings

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


def rehearse(
    machine: Machine, policy: PolicySettings, agent: AgentSettings, fanout: FanoutSettings, gate: GateSettings,
    prompts: Path, folder: Path,
) -> Rehearsal:  # fmt: skip
    """Three rounds under `folder`, in which a rehearsal that was cut short is gone on with."""
    write_problem_set(generate(0), folder / "problems")
    problems = read_problem_set(folder / "problems")
    fanout = replace(fanout, regression_problems=0)
    rounds: list[tuple[str, str, str]] = []
    for place in ("first", "second"):
        round_ = _round(machine, replace(policy, script="solving"), agent, fanout, gate, prompts, problems, folder, place)
        _, change, verdict = apply_round(folder / "state.json", round_)
        rounds.append(("solving", verdict.outcome, change))
    state = read_state(folder / "state.json") or begin_climb(problems.source)
    bad = _round(machine, replace(policy, script="cases"), agent, fanout, gate, prompts, problems, folder, "cases")
    _, change, verdict = apply_round(folder / "cases.json", bad)
    rounds.append(("cases", verdict.outcome, change))
    return Rehearsal(tuple(rounds), tuple(map(_judgement, _rollouts(bad))), state.current)


def _round(
    machine: Machine, policy: PolicySettings, agent: AgentSettings, fanout: FanoutSettings, gate: GateSettings,
    prompts: Path, problems: ProblemSet, folder: Path, name: str,
) -> Path:  # fmt: skip
    """A finished round in a folder of its own, which is returned."""
    place = folder / name
    with scripted_speaker(policy, name) as speaker:
        signed = signature(speaker, machine, agent, prompts)
        plan = canonical_plan(PROBLEM, [], fanout)
        kind = RoundKind("canonical", "live")
        manifest = begin(place, new_manifest(kind, PROBLEM, plan, problems, signed, fanout, gate, []), name)
        sample(place, manifest, machine, speaker, assignments(problems, prompts, agent), agent)
    for planned in manifest.plan:
        append_result(place, judged(planned, problems.problems[planned.problem], log_path(place, planned)))
    finish_round(place)
    return place


def _rollouts(folder: Path) -> Sequence[Rollout]:
    finished: Round = read_round(folder)
    return finished.rollouts


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
