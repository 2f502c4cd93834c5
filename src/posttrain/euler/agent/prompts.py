"""What an agent is told: one neutral text, which each strategy adds a paragraph to."""

from collections.abc import Sequence
from pathlib import Path

from posttrain.errors import DataError
from posttrain.euler.languages import language
from posttrain.euler.planned import CANONICAL
from posttrain.euler.signature import files_sha256

_NAMES = {"python": "Python", "javascript": "JavaScript", "julia": "Julia"}
_LONGEST = 100_000
"""Bytes: the prompt is an argument of Pi's command line, which Linux cuts at 128 KiB."""


def system_prompt(folder: Path) -> str:
    """The text of `system.md`, stripped."""
    return _read(folder / "system.md")


def task_prompt(folder: Path, text: str, name: str, strategy: str, files: Sequence[str]) -> str:
    """What the agent in language `name` is asked; `files` lie in its workspace.

    Raises:
        DataError: a prompt file is missing, or the problem's text is longer than a command line may be.
    """
    assigned = language(name)
    said = f"\nFiles that belong to it lie in the folder: {', '.join(sorted(files))}.\n" if files else ""
    way = "" if strategy == CANONICAL else f"\n{_read(folder / 'strategies' / f'{strategy}.md')}\n"
    prompt = _read(folder / "canonical.md").format(
        language=_NAMES[name],
        suffix=assigned.suffixes[0],
        runtime=assigned.runtimes[0],
        files=said,
        strategy=way,
        problem=text,
    )
    if len(prompt.encode()) > _LONGEST:
        raise DataError(f"a problem's text of {len(text):,} characters is too long for an agent's command line")
    return prompt


def prompts_sha256(folder: Path) -> str:
    """Of all prompt files."""
    return files_sha256(sorted(folder.rglob("*.md")), folder)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; `git checkout {path}` restores it") from error
