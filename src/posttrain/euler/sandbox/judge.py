"""From what happened to a process to the result that is recorded."""

import signal

from posttrain.euler.sandbox.protocol import KILLED, LimitName, Receipt, Result, Status
from posttrain.euler.sandbox.pump import Pumped

_OUT_OF_CPU = 128 + signal.SIGXCPU


def result(
    pumped: Pumped, exit_code: int | None, out_of_memory: bool, receipt: Receipt, workspace_lost: bool = False
) -> Result:
    """`exit_code` is None for a program that was ended with all around it, or ended what was around it."""
    killed_by: LimitName | None = pumped.killed_by
    if killed_by is None and out_of_memory:
        killed_by = "memory_bytes"
    if killed_by is None and exit_code == _OUT_OF_CPU:
        killed_by = "cpu_seconds"
    if pumped.killed_by is not None or exit_code is None:
        exit_code = KILLED
    return Result(
        status=_status(killed_by, exit_code),
        exit_code=exit_code,
        killed_by=killed_by,
        stdout=pumped.stdout.text,
        stderr=pumped.stderr.text,
        stdout_cut=pumped.stdout.cut,
        stderr_cut=pumped.stderr.cut,
        wall_seconds=pumped.wall_seconds,
        workspace_lost=workspace_lost,
        receipt=receipt,
    )


def _status(killed_by: LimitName | None, exit_code: int) -> Status:
    if killed_by == "wall_seconds":
        return Status.TIME_LIMIT
    if killed_by is not None:
        return Status.KILLED
    return Status.FINISHED if exit_code == 0 else Status.ERROR
