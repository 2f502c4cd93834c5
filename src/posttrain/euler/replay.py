"""Scores the events of a finished round anew, by the scorer as it is now: for diagnosis only.

A scorer that was mended after the rollouts were seen cannot promote a model. The new round says that it is a replay,
which the gate and the curriculum refuse, and the old one stays as it was.
"""

import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.manifest import Manifest, RoundKind
from posttrain.euler.manifest_file import log_path, start_round
from posttrain.euler.measures import AXES
from posttrain.euler.planned import Planned
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.problems import Problem
from posttrain.euler.rollouts import Rollout, judged
from posttrain.euler.round_files import append_result
from posttrain.euler.round_receipt import finish_round, read_round
from posttrain.euler.rounds import Round
from posttrain.euler.signature import code_sha256
from posttrain.files import write_json

REPLAY = "replay.json"
"""In the folder of a replay: its source and what changed, bound by the receipt like all other files."""


@dataclass(frozen=True)
class Lookup:
    """What rollouts are judged by. tasks: the SHA-256 of each task, by number, as a manifest has it."""

    tasks: Mapping[int, str]
    problem: Callable[[Planned], Problem]


@dataclass(frozen=True)
class Change:
    """A rollout that is scored in another way than before. before, after: see `changes`."""

    key: str
    before: dict[str, Any]
    after: dict[str, Any]


def problem_lookup(problem_set: ProblemSet) -> Lookup:
    """For rounds of the curriculum's problems; see `transfer.manifest.transfer_lookup` for those of the suite."""
    problems = problem_set.problems
    tasks = {number: problem.task_sha256 for number, problem in problems.items()}
    return Lookup(tasks, lambda planned: problems[planned.problem])


def replay(folder: Path, out: Path, lookup: Lookup) -> Round:
    """Scores the round in `folder` anew into the new folder `out`, which also gets `REPLAY`.

    A rollout that left no events stays lost, with its reason.

    Raises:
        DataError: the round is not complete or differs from its receipt, a task is not what it was, or `out` exists.
    """
    source = read_round(folder)
    _check_tasks(source.manifest, lookup)
    if out.exists():
        raise DataError(f"{out} exists already; replay into a new folder, or delete that one")
    manifest = _manifest(source.manifest)
    start_round(out, manifest)
    rollouts = [_again(folder, out, rollout, lookup) for rollout in source.rollouts]
    for rollout in rollouts:
        append_result(out, rollout)
    told = {
        "source": source.id,
        "scorer_before": source.manifest.signature.scorer_sha256,
        "scorer_after": manifest.signature.scorer_sha256,
        "rollouts": len(rollouts),
        "changed": [asdict(change) for change in changes(source.rollouts, rollouts)],
    }
    write_json(out / REPLAY, told)
    return finish_round(out)


def changes(before: tuple[Rollout, ...] | list[Rollout], after: tuple[Rollout, ...] | list[Rollout]) -> list[Change]:
    """The rollouts that are scored differently, in the order of the plan, which must be the same for both.

    Each side has `failure`, and if that is None, `qualified`, the axes of `measures.AXES`, `escapes` and `breached`.

    Raises:
        DataError: the rollouts are not the same ones.
    """
    if [each.planned for each in before] != [each.planned for each in after]:
        raise DataError("the rounds have not the same rollouts; give a round and its own replay")
    pairs = zip(before, after, strict=True)
    return [
        Change(old.planned.key, _axes(old), _axes(new))
        for old, new in pairs
        if old.score != new.score or (old.failure is None) != (new.failure is None)
    ]


def _manifest(source: Manifest) -> Manifest:
    return replace(
        source,
        nonce=secrets.token_hex(16),
        kind=RoundKind(source.kind.mode, "replay"),
        signature=replace(source.signature, scorer_sha256=code_sha256("posttrain.euler.score")),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _check_tasks(manifest: Manifest, lookup: Lookup) -> None:
    for number in sorted({planned.problem for planned in manifest.plan}):
        found, wanted = lookup.tasks.get(number), manifest.tasks.get(str(number))
        if found is None or found != wanted:
            raise DataError(
                f"problem {number} has SHA-256 {str(found)[:16]} and not {str(wanted)[:16]}, as when the round was "
                f"sampled; give the problems of {manifest.problem_set} as they were then"
            )


def _again(folder: Path, out: Path, before: Rollout, lookup: Lookup) -> Rollout:
    log, copy = log_path(folder, before.planned), log_path(out, before.planned)
    if not log.is_file():
        return before
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(log, copy)
    after = judged(before.planned, lookup.problem(before.planned), copy)
    if after.events_sha256 != before.events_sha256:
        raise DataError(f"{log} changed while it was read; restore it, delete {out}, and replay again")
    return after


def _axes(rollout: Rollout) -> dict[str, Any]:
    score = rollout.score
    if score is None:
        return {"failure": rollout.failure}
    axes = {axis: getattr(score, axis) for axis in AXES}
    escapes = [asdict(escape) for escape in score.escapes]
    return {
        "failure": None,
        "qualified": score.qualified,
        **axes,
        "escapes": escapes,
        "breached": score.breached,
    }
