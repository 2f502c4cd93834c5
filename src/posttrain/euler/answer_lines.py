"""Answers from a text with one on each line, or from JSON that maps numbers to answers."""

import json
import re
from pathlib import PurePosixPath

from posttrain.euler.found import Found

_LINE = re.compile(r"(?:problem\s*)?#?\s*(\d{1,5})[*`]*\s*(?:\.(?=\s|$)|[:)|,;\t]|=|\s-(?=\s))(.*)", re.IGNORECASE)
_MARKUP = " \t|*`-"
MAX_ANSWER = 200
"""Characters."""


def read_answers(name: str, content: bytes, found: Found) -> None:
    """Adds the answers to the drafts; each line that holds none is an issue.

    A line is a number, one of `. : ) | , ; = -` or a tab, and the answer; Markdown's signs around them are passed
    over.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        found.tell("unreadable_answers", name, "it is not UTF-8")
        return
    if PurePosixPath(name).suffix == ".json":
        _read_json(name, text, found)
        return
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip().lstrip(_MARKUP)
        if not any(character.isalnum() for character in bare):
            continue
        match = _LINE.fullmatch(bare)
        if match is None:
            found.tell("unread_line", f"{name}:{number}", bare)
        else:
            _add(f"{name}:{number}", match[1], match[2], found)


def _read_json(name: str, text: str, found: Found) -> None:
    try:
        answers = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        found.tell("unreadable_answers", name, f"not JSON: {error}")
        return
    if not isinstance(answers, dict):
        found.tell("unreadable_answers", name, "not a mapping of numbers to answers")
        return
    for key, value in answers.items():
        if re.fullmatch(r"\d{1,5}", key) and isinstance(value, int | str) and not isinstance(value, bool):
            _add(f"{name}: {key}", key, str(value), found)
        else:
            found.tell("unread_line", f"{name}: {key}", repr(value))


def _add(where: str, number: str, answer: str, found: Found) -> None:
    bare = answer.strip().lstrip(" \t|*`").rstrip(_MARKUP)
    if not int(number):
        found.tell("unread_line", where, "problems are numbered from 1")
    elif not bare:
        found.tell("empty_answer", where, f"problem {int(number)}")
        found.draft(int(number))
    elif len(bare) > MAX_ANSWER or not bare.isprintable():
        found.tell("unread_line", where, f"{len(bare)} characters are no answer")
    else:
        found.draft(int(number)).answers.append(bare)
