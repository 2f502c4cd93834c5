"""What an importer found, and how it becomes problems: whatever is not usable is told, with its reason."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from posttrain.euler.problems import Availability, Kind, Problem, Resource


@dataclass(frozen=True)
class Issue:
    """Something an importer could not use or had to decide. kind: a word to count by. where: entry, file or problem."""

    kind: str
    where: str
    what: str


@dataclass(frozen=True)
class Reference:
    """A file that a problem's text links to. name: safe as a file name. target: the link itself."""

    name: str
    kind: Kind
    target: str


@dataclass
class Draft:
    """All that was found of one problem; a text is None where one was there but is broken."""

    texts: list[str | None] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    source_url: str | None = None


@dataclass
class Found:
    """All that an importer found.

    source: the importer's name, with what else tells its problems from others. licence: of the problems.
    drafts: by number. files: by problem and name.
    """

    source: str
    licence: str
    commercial_use: bool
    provenance: dict[str, Any]
    drafts: dict[int, Draft] = field(default_factory=dict)
    files: dict[tuple[int, str], bytes] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)

    def draft(self, number: int) -> Draft:
        """The draft of a problem, begun if there is none."""
        return self.drafts.setdefault(number, Draft())

    def tell(self, kind: str, where: str, what: str) -> None:
        """Records an issue."""
        self.issues.append(Issue(kind, where[:200], what[:200]))


def assemble(found: Found) -> list[Problem]:
    """The problems by rising number; each missing number, repetition and contradiction is added to the issues."""
    for number in sorted(set(range(1, max(found.drafts, default=0))) - set(found.drafts)):
        found.tell("missing_problem", f"problem {number}", "neither text nor answer was found")
    return [_problem(found, number, found.drafts[number]) for number in sorted(found.drafts)]


def _problem(found: Found, number: int, draft: Draft) -> Problem:
    where = f"problem {number}"
    texts = _distinct(found, f"{where}: text", [text for text in draft.texts if text])
    answers = _distinct(found, f"{where}: answer", draft.answers)
    resources = _resources(draft.references, number, found.files)
    missing = [resource for resource in resources if resource.kind == "document" and resource.sha256 is None]
    if len(texts) > 1 or len(answers) > 1:
        availability = Availability.CONFLICT
    elif not texts:
        availability = Availability.NO_PROMPT
        found.tell("missing_prompt", where, "its text is broken" if draft.texts else "it has no text")
    elif not answers:
        availability = Availability.NO_ANSWER
        found.tell("missing_answer", where, "it has no answer")
    elif missing:
        availability = Availability.NO_RESOURCE
    else:
        availability = Availability.AVAILABLE
    for resource in missing:
        found.tell("missing_resource", where, f"{resource.name} ({resource.reference})")
    answer = answers[0] if len(answers) == 1 else None
    return Problem(number, texts[0] if texts else "", answer, availability, resources, draft.source_url)


def _distinct(found: Found, where: str, values: Sequence[str]) -> list[str]:
    counts = Counter(values)
    if len(counts) > 1:
        found.tell("conflict", where, " / ".join(repr(value[:40]) for value in counts))
    elif values and counts[values[0]] > 1:
        found.tell("duplicate", where, f"it comes {counts[values[0]]} times, always the same")
    return list(counts)


def _resources(
    references: Sequence[Reference], number: int, files: Mapping[tuple[int, str], bytes]
) -> tuple[Resource, ...]:
    resources: dict[str, Resource] = {}
    for reference in references:
        content = files.get((number, reference.name))
        digest = None if content is None else sha256(content).hexdigest()
        resources.setdefault(reference.name, Resource(reference.name, reference.kind, reference.target, digest))
    return tuple(resources.values())
