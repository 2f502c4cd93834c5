"""Sends a training curve to a tracker while it grows, from a process of its own that can neither stop nor slow it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posttrain.errors import PosttrainError
from posttrain.ledger.fingerprint import stage_inputs
from posttrain.ledger.places import project_root
from posttrain.settings import load, read_params
from posttrain.track.run import FOLDER, Run, flat
from posttrain.track.settings import TrackSettings

Send = Callable[[dict[str, Any]], None]
PARAMS = Path("params.yaml")
PATIENCE_S = 10.0
"""How long a finished stage waits for what is still on its way; the sender then goes on by itself."""


@contextmanager
def tracked(stage: str) -> Iterator[Send]:
    """Yields what takes each row of the stage's curve; with `track.to: none` it does nothing.

    A stage that starts again replays its steps from the first on. Its run has the id of the stage and of all that it
    depends on, so it goes on where it was, and what the tracker holds already is not sent again.

    A tracker that fails says so in one line on stderr, and is left out from there.
    """
    settings = load("track", TrackSettings, PARAMS, changes_results=False)
    sender = Sender(settings.to, None) if settings.to == "none" else _start(stage, settings)
    try:
        yield sender.send
    except BaseException:
        sender.close(finished=False)
        raise
    sender.close(finished=True)


class Sender:
    """The other end of the sender's process, or of none if it could not be started."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes] | None") -> None:
        self._name, self._process, self._warned = name, process, False

    def send(self, row: dict[str, Any]) -> None:
        """Hands over the row's numbers without ever waiting; rows that do not fit the pipe are left out."""
        self._write({key: value for key, value in row.items() if isinstance(value, int | float)})

    def close(self, finished: bool) -> None:
        """Says how the stage ended; only a finished one waits for the rest to be sent."""
        self._write({"end": finished})
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        if not finished:
            return
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._warn(f"it takes more than {PATIENCE_S:g} s; the rest is sent in the background")
            return
        if code not in (0, 3):  # 3: it has said what was wrong
            self._warn(f"its process ended with code {code}")

    def _write(self, row: dict[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            # Whole or not at all: a row is shorter than the 4096 bytes for which a pipe promises that.
            os.write(self._process.stdin.fileno(), json.dumps(row).encode() + b"\n")
        except BlockingIOError:
            self._warn("it does not keep up; some steps are left out")
        except BrokenPipeError:  # it has ended; why is said when the stage does
            pass

    def _warn(self, problem: str) -> None:
        if not self._warned:
            self._warned = True
            print(f"warning: track.to is {self._name}, and {problem}", file=sys.stderr, flush=True)


def _start(stage: str, settings: TrackSettings) -> Sender:
    command = [sys.executable, "-m", "posttrain.track.sender", settings.to]
    try:
        first = _run(stage, settings).to_line().encode()
        # A session of its own: Ctrl-C ends the stage, and the sender still says that it was stopped.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0, start_new_session=True
        )
        assert process.stdin is not None
        process.stdin.write(first)
        os.set_blocking(process.stdin.fileno(), False)
    except (PosttrainError, OSError) as error:
        sender = Sender(settings.to, None)
        sender._warn(f"it could not be started: {error}")
        return sender
    return Sender(settings.to, process)


def _run(stage: str, settings: TrackSettings) -> Run:
    named = os.environ.get("DVC_STAGE", stage).rsplit(":", 1)[-1]
    fingerprint = stage_inputs(named, PARAMS).fingerprint
    experiment = os.environ.get("DVC_EXP_NAME", "workspace")
    params = {section: values for section, values in read_params(PARAMS).items() if section != "track"}
    about = {"stage": named, "experiment": experiment, "fingerprint": fingerprint}
    name = f"{named} {experiment} {fingerprint[:8]}"
    folder = str((project_root() / FOLDER).absolute())
    return Run(f"{named}-{fingerprint[:16]}", name, settings.project, {**about, **flat(params)}, folder)
