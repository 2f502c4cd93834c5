"""A round's folder while it is sampled: the manifest first, then a row for each rollout as it ends.

manifest.json   written once, before the first sample
results.jsonl   one row a rollout; a torn last line, which a kill leaves, is owed again
raw/            each rollout's events
"""

import fcntl
import json
import os
from dataclasses import asdict
from pathlib import Path

from posttrain.errors import DataError, StoreError
from posttrain.euler.manifest_file import read_manifest
from posttrain.euler.planned import Planned
from posttrain.euler.rollouts import Rollout
from posttrain.euler.typed import build
from posttrain.files import json_line

RESULTS = "results.jsonl"


def append_result(folder: Path, rollout: Rollout) -> None:
    """Adds a row, on disk when this returns; a torn line before it is cut off first.

    Raises:
        StoreError: the disk is full or not writable.
    """
    path = folder / RESULTS
    line = json_line(asdict(rollout)).encode()
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # rollouts end side by side
            whole = path.read_bytes().rfind(b"\n") + 1
            os.ftruncate(handle, whole)
            if os.write(handle, line) != len(line):
                os.ftruncate(handle, whole)
                raise StoreError(f"cannot write all of a row to {path}; free some space and run again")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; free some space and run again") from error


def read_results(folder: Path) -> list[Rollout]:
    """The last row of each rollout, in the order of the plan; a torn last line is passed over.

    Raises:
        DataError: a line is no row, or a rollout that had been completed comes again.
    """
    path, plan = folder / RESULTS, read_manifest(folder).plan
    rollouts: dict[str, Rollout] = {}
    *lines, _torn = (path.read_bytes() if path.exists() else b"").split(b"\n")
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        try:
            row = json.loads(line.decode())
        except ValueError as error:
            raise DataError(f"{where}: not valid JSON: {error}; sample the round again") from error
        rollout = build(Rollout, row, where)
        before = rollouts.get(rollout.planned.key)
        if before is not None and before.failure is None:
            raise DataError(f"{where}: rollout {rollout.planned.key} was complete before; sample the round again")
        if (rollout.failure is None) != (rollout.score is not None):
            raise DataError(f"{where}: a rollout has either a score or a failure; sample the round again")
        rollouts[rollout.planned.key] = rollout
    order = {planned.key: place for place, planned in enumerate(plan)}
    if unplanned := [key for key in rollouts if key not in order]:
        raise DataError(f"{path}: rollout {unplanned[0]} is not planned; sample the round again")
    return sorted(rollouts.values(), key=lambda rollout: order[rollout.planned.key])


def owed(folder: Path) -> list[Planned]:
    """The planned rollouts that are not complete: never sampled, torn, or lost to the infrastructure."""
    complete = {rollout.planned for rollout in read_results(folder) if rollout.failure is None}
    return [planned for planned in read_manifest(folder).plan if planned not in complete]
