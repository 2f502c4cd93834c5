"""What the host saw in one rollout, written by Pi's hook as one JSON object a line: all that scoring rests on.

Nothing here is taken from the text of a tool result, which the model's program can forge. Exit code, argv, hashes and
output are those of the host, which ran the program and read the file.
"""

from dataclasses import dataclass
from typing import Literal

EscapeRule = Literal["absolute", "home", "parent", "link"]
Stop = Literal["stop", "length", "turns", "wall_time"]
"""Why the agent ended: by itself, out of tokens, turns or seconds. Each is the model's doing."""


@dataclass(frozen=True)
class Mutation:
    """A call of `write` or `edit`. path: as the model gave it.

    sha256: of the file after it (hex); None if the call failed. content: of the file after it, where it is UTF-8 and
    was kept.
    """

    tool: Literal["write", "edit"]
    path: str
    sha256: str | None
    content: str | None


@dataclass(frozen=True)
class Inspection:
    """A call of `read`. path: as the model gave it. ok: whether it found a file."""

    path: str
    ok: bool


@dataclass(frozen=True)
class Execution:
    """A call of `bash`. command: as the model gave it. argv: what the host started.

    A command of plain words (`shell.plain_words`) is started as these words, any other through a shell.
    sha256: of the file that the second word names, just before the start; None if there is no such file.
    exit_code: as a shell shows it; None if nothing was started. stdout: without stderr; stdout_cut: a limit ended it.
    """

    command: str
    argv: tuple[str, ...]
    exit_code: int | None
    sha256: str | None
    stdout: str
    stdout_cut: bool
    seconds: float


@dataclass(frozen=True)
class Escape:
    """The host refused a call that led out of the workspace. what: the path or command."""

    rule: EscapeRule
    what: str


@dataclass(frozen=True)
class Breach:
    """Something was really read or changed outside the workspace, which the sandbox should have stopped."""

    what: str


@dataclass(frozen=True)
class Failure:
    """The provider, the sandbox or the host failed: the rollout is nobody's zero. boundary: which of them."""

    boundary: Literal["provider", "sandbox", "host"]
    what: str


@dataclass(frozen=True)
class End:
    """The agent is done; always the last line. reply: its final message. Tokens are those the provider counted."""

    stop: Stop
    reply: str
    tokens_in: int
    tokens_out: int
    seconds: float


Event = Mutation | Inspection | Execution | Escape | Breach | Failure | End
KINDS: dict[str, type[Event]] = {
    "mutation": Mutation,
    "inspection": Inspection,
    "execution": Execution,
    "escape": Escape,
    "breach": Breach,
    "failure": Failure,
    "end": End,
}
"""The value of `kind` in a line."""
