"""The rollouts of a round: those that are planned, and what became of each."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import DataError, InfrastructureError
from posttrain.euler.event_log import read_events
from posttrain.euler.events import End, Event, Execution, Inspection, Mutation
from posttrain.euler.languages import language
from posttrain.euler.memorized import ANSWER_WITHOUT_RUN, program_warnings
from posttrain.euler.planned import Planned
from posttrain.euler.problems import Problem
from posttrain.euler.score import Score, prints, score


@dataclass(frozen=True)
class Rollout:
    """What became of a planned rollout: a row of results.jsonl.

    failure: of the infrastructure; there is no score then, and it is nobody's zero. tool_failures: calls that found no
    file, changed nothing or ended with another exit code than 0. warnings: see `memorized`. events_sha256: of its
    file of events, "" if it left none.
    """

    planned: Planned
    failure: str | None
    score: Score | None
    tokens_in: int
    tokens_out: int
    seconds: float
    tool_calls: int
    tool_failures: int
    warnings: tuple[str, ...]
    events_sha256: str

    @property
    def qualified(self) -> bool:
        """False also for a rollout that failed: look at `failure` first."""
        return self.score is not None and self.score.qualified


def judged(planned: Planned, problem: Problem, log: Path) -> Rollout:
    """Scores a rollout by its file of events; one that is missing, torn or tells of a failure gives a failed rollout.

    Raises:
        DataError: the problem has no answer, or is another than was planned.
    """
    if problem.answer is None or problem.id != planned.problem:
        raise DataError(
            f"rollout {planned.key} cannot be judged by problem {problem.id}; take the round's own problems"
        )
    digest = hashlib.sha256(log.read_bytes()).hexdigest() if log.is_file() else ""
    try:
        events = read_events(log)
    except DataError as error:
        return failed(planned, str(error), digest)
    try:
        result = score(events, problem.answer, language(planned.language))
    except InfrastructureError as error:
        return failed(planned, str(error), digest)
    end = events[-1]
    assert isinstance(end, End)
    calls = [event for event in events if isinstance(event, Mutation | Inspection | Execution)]
    return Rollout(
        planned=planned,
        failure=None,
        score=result,
        tokens_in=end.tokens_in,
        tokens_out=end.tokens_out,
        seconds=end.seconds,
        tool_calls=len(calls),
        tool_failures=sum(map(_failed_call, calls)),
        warnings=tuple(_warnings(events, result, problem, planned.language)),
        events_sha256=digest,
    )


def failed(planned: Planned, why: str, events_sha256: str = "") -> Rollout:
    """A rollout that the infrastructure lost."""
    return Rollout(planned, why, None, 0, 0, 0.0, 0, 0, (), events_sha256)


def _failed_call(event: Mutation | Inspection | Execution) -> bool:
    if isinstance(event, Mutation):
        return event.sha256 is None
    return not event.ok if isinstance(event, Inspection) else event.exit_code != 0


def _warnings(events: Sequence[Event], result: Score, problem: Problem, name: str) -> list[str]:
    """Of the programs that printed the answer; of any run, also one that earns nothing."""
    answer = str(problem.answer)
    contents = {event.sha256: event.content for event in events if isinstance(event, Mutation)}
    printing = [event for event in events if isinstance(event, Execution) and prints(event, answer)]
    sources = [contents.get(event.sha256) for event in printing if event.sha256 is not None]
    found = [w for source in sources if source for w in program_warnings(source, name, answer, problem.prompt)]
    if result.reply and not printing:
        found.append(ANSWER_WITHOUT_RUN)
    return sorted(set(found))
