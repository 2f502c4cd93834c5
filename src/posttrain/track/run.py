"""What a tracker is told of: one run of one training stage, and its steps."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

FOLDER = Path(".posttrain", "track")
"""Under the project's root, also in an experiment's copy: where trackers without a server keep their files."""


@dataclass(frozen=True)
class Run:
    """A stage's run, the same one when the stage starts again on the same inputs.

    Attributes:
        id: stage and fingerprint of its inputs.
        name: for readers.
        project: what its runs are filed under.
        config: all settings of params.yaml by dotted key, and what names the run.
        folder: where files may be left.
    """

    id: str
    name: str
    project: str
    config: dict[str, Any]
    folder: str

    def to_line(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    @staticmethod
    def from_line(line: str) -> "Run":
        """What `to_line` wrote."""
        return Run(**json.loads(line))


class Tracker(Protocol):
    """A run that is open at a tracker."""

    last_step: int
    """The last step that it held when it was opened, 0 for a new one; these are not sent again."""

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """Adds a step, counted from 1."""
        ...

    def close(self, finished: bool) -> None:
        """Ends the run; `finished` is false if the stage was stopped."""
        ...


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        inner = isinstance(value, dict) and value
        found |= flat(value, f"{prefix}{key}.") if inner else {f"{prefix}{key}": value}
    return found
