"""Reads and writes the trusted events of a rollout; a line that is not exactly one of them is refused by its number."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.events import KINDS, End, Event, Failure, Mutation
from posttrain.euler.typed import build
from posttrain.files import json_line

_HEX = re.compile(r"[0-9a-f]{64}")
_MAX_EXIT = 255


def event_line(event: Event) -> str:
    """The line of an event, newline-terminated."""
    kind = next(name for name, cls in KINDS.items() if type(event) is cls)
    return json_line({"kind": kind, **asdict(event)})


def read_events(path: Path) -> list[Event]:
    """The events of a finished rollout.

    Raises:
        DataError: the file is missing, or a line is malformed, or the last one is neither an end nor a failure.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; the rollout has left no events, sample it again") from error
    return parse_events(content, str(path))


def parse_events(content: bytes, where: str) -> list[Event]:
    """As `read_events`, from bytes; `where` names them in errors."""
    lines = content.split(b"\n")
    if lines[-1]:
        raise DataError(f"{where}:{len(lines)}: the line is torn; sample the rollout again")
    events = [_parse(line, f"{where}:{number}") for number, line in enumerate(lines[:-1], 1)]
    if not events or not isinstance(events[-1], End | Failure):
        raise DataError(f"{where}: it does not end with an end or a failure; sample the rollout again")
    for number, event in enumerate(events[:-1], 1):
        if isinstance(event, End):
            raise DataError(f"{where}:{number}: there are events after the end; sample the rollout again")
    return events


def _parse(line: bytes, where: str) -> Event:
    try:
        row = json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected a JSON object, found {type(row).__name__}")
    kind = row.pop("kind", None)
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise DataError(f"{where}: kind is {kind!r}; known: {', '.join(KINDS)}")
    event: Event = build(cls, row, f"{where}: {kind}")
    _check(event, where)
    return event


def _check(event: Event, where: str) -> None:
    for name, value in vars(event).items():
        if isinstance(value, int | float) and value < 0:
            raise DataError(f"{where}: {name}: {value} is negative")
    digest = getattr(event, "sha256", None)
    if digest is not None and not _HEX.fullmatch(digest):
        raise DataError(f"{where}: sha256: {digest[:80]!r} is no SHA-256")
    code = getattr(event, "exit_code", None)
    if code is not None and code > _MAX_EXIT:
        raise DataError(f"{where}: exit_code: {code} is none that a shell shows")
    if isinstance(event, Mutation) and event.content is not None:
        content = event.content.encode("utf-8", "surrogatepass")
        if hashlib.sha256(content).hexdigest() != event.sha256:
            raise DataError(f"{where}: content: it does not have the SHA-256 that stands beside it")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key comes twice")
    return row


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")
