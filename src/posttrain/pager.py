"""Long output a screen at a time, as git does it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from posttrain.terminal import say

DEFAULT = "less -R"
_COLOUR = re.compile("\033\\[[0-9;]*m")


def colours() -> bool:
    """Whether output goes to a terminal whose user has not asked for none (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def page(lines: Sequence[str]) -> None:
    """Prints harmless lines, through $PAGER or `less -R` if stdout is a terminal that they do not fit."""
    if not (sys.stdout.isatty() and _height(lines) >= shutil.get_terminal_size().lines and _paged(lines)):
        for line in lines:
            say(line)


def _height(lines: Sequence[str]) -> int:
    columns = max(1, shutil.get_terminal_size().columns)
    return sum(max(1, -(-len(_COLOUR.sub("", line)) // columns)) for line in lines)


def _paged(lines: Sequence[str]) -> bool:
    """Whether a pager could be started; then it has shown the lines."""
    try:
        command = shlex.split(os.environ.get("PAGER", DEFAULT))
    except ValueError:
        return False
    # A `less` that was chosen without -R would print the colours as signs.
    environment = {"LESS": "R", **os.environ}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except (OSError, IndexError):  # there is no such program, or $PAGER is empty
        return False
    assert process.stdin is not None
    with suppress(BrokenPipeError, KeyboardInterrupt):  # the reader has seen enough
        encoding = sys.stdout.encoding or "utf-8"
        process.stdin.write("".join(f"{line}\n" for line in lines).encode(encoding, "replace"))
    with suppress(BrokenPipeError):
        process.stdin.close()
    while process.poll() is None:
        with suppress(KeyboardInterrupt):  # meant for the pager, which stays
            process.wait()
    return True
