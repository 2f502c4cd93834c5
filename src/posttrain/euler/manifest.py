"""What a round is, written down before it is sampled: one fan-out of rollouts of one model."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from posttrain.errors import DataError
from posttrain.euler.planned import Planned
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.problems import Availability
from posttrain.euler.settings import FanoutSettings, GateSettings
from posttrain.euler.signature import ModelSignature

VERSION = 1
Mode = Literal["canonical", "explore", "probe", "transfer"]
"""transfer: of the frozen tasks with files, see `posttrain.euler.transfer`; only canonical moves the frontier."""
Origin = Literal["live", "replay"]


@dataclass(frozen=True)
class RoundKind:
    """What sort of round. origin: a replay scores old rollouts anew, for diagnosis only."""

    mode: Mode
    origin: Origin


@dataclass(frozen=True)
class Manifest:
    """What a round is, written before its first sample and never changed.

    nonce: tells rounds apart that are otherwise alike. problem: the current one, 0 in a transfer round, which has none.
    problem_set: its source. tasks: `Problem.task_sha256` by the number, as text, of each problem that is planned.
    trained_on: problems that the model was trained on. started: ISO 8601 in UTC.
    """

    version: int
    nonce: str
    kind: RoundKind
    problem: int
    problem_set: str
    problems_sha256: str
    tasks: dict[str, str]
    trained_on: tuple[int, ...]
    signature: ModelSignature
    fanout: FanoutSettings
    gate: GateSettings
    plan: tuple[Planned, ...]
    started: str


@dataclass(frozen=True)
class TaskSource:
    """Where a round's tasks come from. sha256: of all of it. tasks: the SHA-256 of each that may be planned."""

    name: str
    sha256: str
    tasks: Mapping[int, str]


def new_manifest(
    kind: RoundKind,
    problem: int,
    plan: Sequence[Planned],
    problem_set: ProblemSet,
    signature: ModelSignature,
    fanout: FanoutSettings,
    gate: GateSettings,
    trained_on: Sequence[int],
) -> Manifest:
    """The manifest of a round that begins now.

    Raises:
        DataError: a planned problem is not available, or a language of the fan-out is not in the signature, which
            names those whose runtimes were found.
    """
    numbers = sorted({planned.problem for planned in plan})
    for number in numbers:
        found = problem_set.problems.get(number)
        if found is None or found.availability is not Availability.AVAILABLE:
            raise DataError(f"problem {number} is planned and not available; see the manifest of the problems")
    tasks = {number: problem_set.problems[number].task_sha256 for number in numbers}
    source = TaskSource(problem_set.source, problem_set.sha256, tasks)
    return manifest_of(kind, problem, plan, source, signature, fanout, gate, trained_on)


def manifest_of(
    kind: RoundKind,
    problem: int,
    plan: Sequence[Planned],
    source: TaskSource,
    signature: ModelSignature,
    fanout: FanoutSettings,
    gate: GateSettings,
    trained_on: Sequence[int],
) -> Manifest:
    """As `new_manifest`, of tasks from anywhere.

    Raises:
        DataError: a language of the fan-out is not in the signature, which names those whose runtimes were found.
    """
    if missing := [name for name in fanout.languages if name not in signature.languages]:
        raise DataError(f"no runtime for {missing[0]} was found; install it, or take it out of fanout.languages")
    return Manifest(
        version=VERSION,
        nonce=secrets.token_hex(16),
        kind=kind,
        problem=problem,
        problem_set=source.name,
        problems_sha256=source.sha256,
        tasks={str(number): source.tasks[number] for number in sorted({planned.problem for planned in plan})},
        trained_on=tuple(sorted(set(trained_on))),
        signature=signature,
        fanout=fanout,
        gate=gate,
        plan=tuple(plan),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
