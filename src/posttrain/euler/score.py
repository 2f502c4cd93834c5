"""functional_v2: five axes of one rollout, from what the host saw; nothing that the agent says of itself counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from posttrain.errors import DataError, InfrastructureError
from posttrain.euler.audit import command_escapes, path_escape
from posttrain.euler.events import Breach, End, Escape, Event, Execution, Failure, Inspection, Mutation
from posttrain.euler.languages import Language
from posttrain.euler.paths import program_file, relative_file
from posttrain.euler.reply import boxed, states
from posttrain.euler.shell import plain_words

NAME = "functional_v2"
"""Of this rule; its exact version is the hash of its code in the model's signature."""


@dataclass(frozen=True)
class Score:
    """The axes of a rollout, and what disqualifies it.

    `executed`, `exit_zero` and `output` are of one and the same run: the one that has most of them, of equal ones the
    last. escapes: attempts to leave the workspace, blocked or not. breached: one really got out. boxed: presentation
    only.
    """

    mutated: bool
    """A relative program file of the assigned language was written or edited."""
    executed: bool
    """The assigned runtime ran such a file as it was left by that, in a command of exactly two words."""
    exit_zero: bool
    output: bool
    """The last line with something on it is the expected value, exactly."""
    reply: bool
    """The final reply states the same value, commas left out."""
    boxed: bool
    escapes: tuple[Escape, ...]
    breached: bool

    @property
    def qualified(self) -> bool:
        """All five axes, and no attempt to escape."""
        axes = (self.mutated, self.executed, self.exit_zero, self.output, self.reply)
        return all(axes) and not self.escapes and not self.breached


def score(events: Sequence[Event], expected: str, language: Language) -> Score:
    """Scores a rollout.

    Raises:
        InfrastructureError: something else than the agent failed, or it never ended; there is nothing to score.
        DataError: there is no expected value.
    """
    if not expected.strip():
        raise DataError("no answer to score by; a problem without one must not be sampled")
    end = _end(events)
    written: dict[str, str] = {}
    mutated = False
    best: tuple[bool, bool, bool] = (False, False, False)
    for event in events:
        if isinstance(event, Mutation) and event.sha256 is not None:
            path = program_file(event.path, language.suffixes)
            if path is not None:
                written[path] = event.sha256
                mutated = True
        elif isinstance(event, Execution) and _runs_written(event, written, language):
            run = (True, event.exit_code == 0, prints(event, expected))
            best = run if sum(run) >= sum(best) else best
    escapes = _escapes(events)
    breached = any(isinstance(event, Breach) for event in events)
    return Score(
        mutated, *best, states(end.reply, expected), boxed(end.reply, expected), escapes=escapes, breached=breached
    )


def prints(execution: Execution, expected: str) -> bool:
    """Whether the last line with something on it is `expected`; output that a limit cut off has no last line."""
    lines = [line.strip() for line in execution.stdout.split("\n") if line.strip()]
    return bool(lines) and not execution.stdout_cut and lines[-1] == expected.strip()


def _end(events: Sequence[Event]) -> End:
    for event in events:
        if isinstance(event, Failure):
            raise InfrastructureError(f"the {event.boundary} failed: {event.what}; sample the rollout again")
    if not events or not isinstance(events[-1], End):
        raise InfrastructureError("the rollout never ended; sample it again")
    return events[-1]


def _runs_written(event: Execution, written: dict[str, str], language: Language) -> bool:
    """Whether it is `runtime file` and nothing more, and the file still is what write or edit left.

    A second word with a hyphen in front is an option, not a file: `python3 -c.py` runs the text ".py".
    """
    if len(event.argv) != 2 or plain_words(event.command) != event.argv or event.exit_code is None:
        return False
    runtime, word = event.argv
    path = relative_file(word)
    if runtime not in language.runtimes or path is None or word.startswith("-"):
        return False
    return event.sha256 is not None and written.get(path) == event.sha256


def _escapes(events: Sequence[Event]) -> tuple[Escape, ...]:
    found: list[Escape] = []
    for event in events:
        if isinstance(event, Escape):
            found.append(event)
        elif isinstance(event, Execution):
            found += command_escapes(event.command)
        elif isinstance(event, Mutation | Inspection) and (escape := path_escape(event.path)) is not None:
            found.append(escape)
    return tuple(dict.fromkeys(found))
