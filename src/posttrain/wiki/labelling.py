"""A person labels failed episodes one after another; every answer is stored before the next question."""

import getpass
import os
import subprocess
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum

from posttrain.errors import DataError
from posttrain.wiki.cases import Case, Run
from posttrain.wiki.human_labels import HumanLabel, Key, automatic_label, episode_hash
from posttrain.wiki.human_words import HUMAN
from posttrain.wiki.label_file import append, withdraw

KEYS = dict(zip("bmetno", HUMAN, strict=True))
_WORDS = {**KEYS, **{str(number): label for number, label in enumerate(HUMAN, 1)}, **{label: label for label in HUMAN}}
ASKED = "  ".join(f"{key}/{number} {label}" for number, (key, label) in enumerate(KEYS.items(), 1))
NOTE = "note (Enter: none, u: undo, q: quit): "

Ask = Callable[[str], str | None]
"""Shows a prompt and gives the line that was typed; None at the end of input."""


class Command(Enum):
    """What a person may type instead of a label."""

    SKIP = "s"
    UNDO = "u"
    QUIT = "q"


def parse_reply(line: str) -> tuple[str, str] | Command | None:
    """A label with its note, which may be empty, or a command; None for anything else."""
    first, _, note = line.strip().partition(" ")
    if first in _WORDS:
        return _WORDS[first], note.strip()
    commands = [command for command in Command if line.strip() in (command.value, command.name.lower())]
    return commands[0] if commands else None


def to_label(cases: Sequence[Case], labelled: Collection[Key]) -> list[Case]:
    """The failed episodes of a scored run, those without a label first.

    Raises:
        DataError: the run has no scores.
    """
    if any(case.score is None for case in cases):
        raise DataError("the run has no scores, so nobody knows which episodes failed; name one that has")
    failed = [case for case in cases if case.failed]
    return sorted(failed, key=lambda case: (case.episode.id, case.episode.attempt) in labelled)


def label_of(run: Run, case: Case, human: str, note: str, who: str) -> HumanLabel:
    """A label given now."""
    episode, when = case.episode, datetime.now(UTC).isoformat(timespec="seconds")
    automatic = str(automatic_label(case))
    return HumanLabel(
        run.name, episode.id, episode.attempt, episode_hash(episode), automatic, human, _clean(note), who, when
    )


def label_all(
    run: Run, cases: Sequence[Case], ask: Ask, show: Callable[[int, Case], None], tell: Callable[[str], None]
) -> None:
    """Shows each case, asks for its label and stores it, until all are through or the person has had enough.

    Raises:
        DataError: a label cannot be taken back, because the file has grown since.
        OSError: a label cannot be stored.
    """
    at, who = 0, labeller()
    stored: list[tuple[int, list[HumanLabel]]] = []
    shown = -1
    while at < len(cases):
        if shown != at:
            show(at, cases[at])
            shown = at
        line = ask("label: ")
        reply = Command.QUIT if line is None else parse_reply(line)
        if isinstance(reply, tuple):
            stored.append((at, [label_of(run, cases[at], *reply, who)]))
            append(stored[-1][1][0])
            reply = None if reply[1] else _noted(stored[-1][1], ask)
            at += 1
        elif reply is None:
            tell(f"type a key, number or name: {ASKED}; s skip, u undo, q quit")
        if reply is Command.QUIT:
            break
        if reply is Command.SKIP:
            at += 1
        elif reply is Command.UNDO and stored:
            at, lines = stored.pop()
            withdraw(lines)
            shown = -1
        elif reply is Command.UNDO:
            tell("there is nothing to take back")


def _noted(lines: list[HumanLabel], ask: Ask) -> Command | None:
    """Asks for a note on the label just stored, and stores it again with the note; or the command typed instead."""
    line = ask(NOTE)
    reply = Command.QUIT if line is None else parse_reply(line)
    if reply in (Command.QUIT, Command.UNDO):
        return Command(reply)
    if line and line.strip():
        lines.append(replace(lines[0], note=_clean(line)))
        append(lines[-1])
    return None


def _clean(note: str) -> str:
    # What was typed that is no UTF-8 arrives as halves of surrogate pairs, which no file can hold.
    return " ".join(note.encode("utf-8", "replace").decode().split())


def labeller() -> str:
    """Who labels: git's user.name, else the name in the system."""
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, check=False)
        name = done.stdout.strip()
    except (OSError, UnicodeDecodeError):
        name = ""
    if name or (name := os.environ.get("USER", "")):
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user that the system has no name for, as in containers
        return str(os.getuid())
