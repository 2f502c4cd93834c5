"""The folder that `prepare` fills: problems.jsonl, their files, and the manifest that binds them by hash.

It holds the answers: nothing in it may be seen by an agent but the text and the files of its own problem.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.found import Found, assemble
from posttrain.euler.problems import Availability, Problem, parse_problem, problem_row
from posttrain.files import read_json, read_jsonl, replacing, sha256_file, write_json, write_jsonl

PROBLEMS, MANIFEST, RESOURCES = "problems.jsonl", "manifest.json", "resources"
_AGAIN = "prepare the problems again"


@dataclass(frozen=True)
class ProblemSet:
    """Checked problems by number. sha256: of problems.jsonl."""

    folder: Path
    source: str
    sha256: str
    problems: dict[int, Problem]

    def file(self, problem: Problem, name: str) -> Path:
        """Where a problem's file lies."""
        return self.folder / RESOURCES / str(problem.id) / name


def write_problem_set(found: Found, folder: Path) -> dict[str, Any]:
    """Writes files, problems and, last of all, the manifest, which is returned; equal input gives equal bytes."""
    problems = assemble(found)
    for (number, name), content in sorted(found.files.items()):
        with replacing(folder / RESOURCES / str(number) / name) as temporary:
            temporary.write_bytes(content)
    _remove_others(folder / RESOURCES, found)
    write_jsonl(folder / PROBLEMS, map(problem_row, problems))
    manifest = _manifest(found, problems, folder)
    write_json(folder / MANIFEST, manifest)
    return manifest


def read_problem_set(folder: Path) -> ProblemSet:
    """Reads problems and checks that they and their files are those of the manifest.

    Raises:
        DataError: something is missing, malformed, twice there, or not what the manifest's hash says.
    """
    manifest = read_json(folder / MANIFEST)
    try:
        source, hashes = str(manifest["source"]), dict(manifest["sha256"])
        digest = str(hashes[PROBLEMS])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / MANIFEST} is not a manifest of problems: {error!r}; {_AGAIN}") from error
    for name, wanted in hashes.items():
        path = folder / name
        if not path.is_file():
            raise DataError(f"{path} is missing; {_AGAIN}")
        if (is_now := sha256_file(path)) != wanted:
            raise DataError(f"{path} has SHA-256 {is_now[:16]} and not {wanted[:16]} as the manifest says; {_AGAIN}")
    problems: dict[int, Problem] = {}
    for number, row in enumerate(read_jsonl(folder / PROBLEMS), 1):
        problem = parse_problem(f"{folder / PROBLEMS}:{number}", row)
        if problem.id in problems:
            raise DataError(f"{folder / PROBLEMS}:{number}: problem {problem.id} comes twice; {_AGAIN}")
        problems[problem.id] = problem
    return ProblemSet(folder, source, digest, problems)


def workspace_files(problem_set: ProblemSet, problem: Problem) -> dict[str, bytes]:
    """The files that an agent is given with the problem's text, by name, and nothing else of the set.

    Raises:
        DataError: the problem is not available, or a file is not what it was when the set was read.
    """
    if problem.availability is not Availability.AVAILABLE:
        raise DataError(f"problem {problem.id} cannot be given to an agent: {problem.availability.value}")
    files: dict[str, bytes] = {}
    for resource in problem.resources:
        if resource.sha256 is not None:
            path = problem_set.file(problem, resource.name)
            content = path.read_bytes() if path.is_file() else b""
            if hashlib.sha256(content).hexdigest() != resource.sha256:
                raise DataError(f"{path} has changed since the problems were read; {_AGAIN}")
            files[resource.name] = content
    return files


def _remove_others(folder: Path, found: Found) -> None:
    """Files that an earlier call left, of problems that are others now."""
    kept = {folder / str(number) / name for number, name in found.files}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in kept:
            path.unlink()


def _manifest(found: Found, problems: list[Problem], folder: Path) -> dict[str, Any]:
    files = [f"{RESOURCES}/{number}/{name}" for number, name in sorted(found.files)]
    resources = [resource for problem in problems for resource in problem.resources]
    return {
        "version": 1,
        "source": found.source,
        "provenance": found.provenance,
        "licence": found.licence,
        "commercial_use": found.commercial_use,
        "counts": {
            "problems": len(problems),
            "answers": sum(problem.answer is not None for problem in problems),
            "availability": _tally(problem.availability.value for problem in problems),
            "documents": sum(resource.kind == "document" for resource in resources),
            "images": sum(resource.kind == "image" for resource in resources),
            "files": len(files),
            "issues": _tally(issue.kind for issue in found.issues),
        },
        "missing_resources": [
            {"problem": problem.id, "name": resource.name, "reference": resource.reference}
            for problem in problems
            for resource in problem.missing
        ],
        "issues": [asdict(issue) for issue in found.issues],
        "sha256": {name: sha256_file(folder / name) for name in [PROBLEMS, *files]},
    }


def _tally(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
