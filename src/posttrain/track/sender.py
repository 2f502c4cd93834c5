"""The process that talks to a tracker: `python -m posttrain.track.sender NAME`, rows of JSON on its standard input.

A process of its own, because trackers wait for networks, start threads and print; and because a stage that imported
one would run again after every edit here. It ends when its input does, also if the stage was killed.
"""

import importlib
import json
import os
import sys
from typing import TextIO

from posttrain.terminal import harmless
from posttrain.track.run import Run, Tracker

WARNED = 3
"""Exit code once the one warning has been printed."""
END = "end"
"""Key of the last line: whether the stage finished."""


def main() -> int:
    """Sends all rows; a failure is one warning, after which nothing more is sent."""
    name = sys.argv[1]
    rows, words = _own_streams()
    os.nice(10)
    try:
        _send_all(name, rows)
    except ImportError as error:
        package = str(error.name or error).partition(".")[0]
        return _warn(words, name, f'{package} is not installed: pip install "posttrain[{name}]"')
    except Exception as error:
        return _warn(words, name, f"{type(error).__name__}: {error}")
    return 0


def _send_all(name: str, rows: TextIO) -> None:
    first = rows.readline()
    if not first:
        return
    tracker: Tracker = importlib.import_module(f"posttrain.track.{name}").open_run(Run.from_line(first))
    finished = False
    for line in rows:
        row = json.loads(line)
        if END in row:
            finished = bool(row[END])
        elif row["step"] > tracker.last_step:
            tracker.log(row.pop("step"), row)
    tracker.close(finished)


def _own_streams() -> tuple[TextIO, TextIO]:
    """Input and error stream, which from then on no library reads from or prints to."""
    rows, words = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(2), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    return rows, words


def _warn(words: TextIO, name: str, problem: str) -> int:
    said = f"warning: track.to is {name}, and {harmless(problem, 300)}; training goes on without it"
    print(said, file=words, flush=True)
    # Not `sys.exit`: threads of a tracker that waits for a network would be waited for.
    os._exit(WARNED)


if __name__ == "__main__":
    sys.exit(main())
