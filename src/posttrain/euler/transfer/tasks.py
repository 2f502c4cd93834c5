"""The four frozen tasks with files: nothing of Project Euler, so that they show what an agent can do besides.

The answers are here and in no file of a workspace.
"""

import hashlib
from dataclasses import dataclass

from posttrain.errors import DataError
from posttrain.euler.languages import language as language_of
from posttrain.euler.problems import Availability, Problem, Resource
from posttrain.euler.transfer.checksum import CHECKSUM
from posttrain.euler.transfer.inventory import INVENTORY
from posttrain.euler.transfer.logs import LOGS
from posttrain.euler.transfer.shards import SHARDS

_TEMPLATES = {1: LOGS, 2: INVENTORY, 3: CHECKSUM, 4: SHARDS}
NAMES = {number: template.name for number, template in _TEMPLATES.items()}
"""Of the tasks, by number."""
_REPORT = "Print that number alone as the last line of the output, and state it in your final reply."


@dataclass(frozen=True)
class TransferTask:
    """What a rollout is given, and the answer, which it is not. files: of the workspace, by name."""

    number: int
    name: str
    language: str
    prompt: str
    files: dict[str, bytes]
    answer: str


def task(number: int, language: str) -> TransferTask:
    """A task in a language.

    Raises:
        DataError: there is no such task or language.
    """
    template = _TEMPLATES.get(number)
    if template is None:
        raise DataError(f"the transfer suite has no task {number}; it has {', '.join(map(str, _TEMPLATES))}")
    prompt = template.prompt.format(suffix=language_of(language).suffixes[0])
    return TransferTask(
        number, template.name, language, f"{prompt}\n{_REPORT}", template.files(language), template.answer
    )


def as_problem(given: TransferTask) -> Problem:
    """The task in the form that rollouts are judged by, see `rollouts.judged`."""
    resources = tuple(
        Resource(name, "document", name, hashlib.sha256(content).hexdigest())
        for name, content in sorted(given.files.items())
    )
    return Problem(given.number, given.prompt, given.answer, Availability.AVAILABLE, resources, None)
