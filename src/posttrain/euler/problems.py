"""A problem, as it lies in problems.jsonl."""

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Literal

from posttrain.errors import DataError
from posttrain.euler.typed import build
from posttrain.files import Row

Kind = Literal["document", "image"]


class Availability(StrEnum):
    """Whether a problem can be given to an agent and judged."""

    AVAILABLE = "available"
    NO_PROMPT = "no_prompt"
    """There is no text, or it is broken off."""
    NO_ANSWER = "no_answer"
    NO_RESOURCE = "no_resource"
    """A file that the text speaks of is missing; images are never counted as needed."""
    CONFLICT = "conflict"
    """Two texts or two answers contradict each other."""


@dataclass(frozen=True)
class Resource:
    """A file that a problem refers to.

    name: in the workspace. reference: the link as the source has it. sha256: of the file beside problems.jsonl, or
    None if it is not there.
    """

    name: str
    kind: Kind
    reference: str
    sha256: str | None


@dataclass(frozen=True)
class Problem:
    """One problem with its answer: never put into a workspace as it is, see `prompt` and `resources` for what is."""

    id: int
    prompt: str
    answer: str | None
    availability: Availability
    resources: tuple[Resource, ...]
    source_url: str | None

    @property
    def task_sha256(self) -> str:
        """Of what an agent is given and judged by: text, answer and files."""
        files = [[resource.name, resource.sha256] for resource in self.resources]
        return hashlib.sha256(json.dumps([self.prompt, self.answer, files]).encode()).hexdigest()

    @property
    def missing(self) -> list[Resource]:
        """The documents that are not there."""
        return [resource for resource in self.resources if resource.kind == "document" and resource.sha256 is None]


def problem_row(problem: Problem) -> Row:
    """The line of problems.jsonl."""
    return asdict(problem)


def parse_problem(where: str, row: Row) -> Problem:
    """The problem of a line.

    Raises:
        DataError: `where` is not such a line.
    """
    problem = build(Problem, row, where)
    if problem.availability is Availability.AVAILABLE and not (problem.prompt and problem.answer):
        raise DataError(f"{where}: problem {problem.id} is said to be available without text or answer; prepare again")
    return problem
