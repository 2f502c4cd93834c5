"""Writing human labels: a line is on disk before the next question is asked, and only the last ones are taken back."""

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from posttrain.errors import DataError
from posttrain.files import json_line
from posttrain.wiki.human_labels import HumanLabel, labels_path


def append(label: HumanLabel) -> None:
    """Adds a line, on disk when this returns.

    Raises:
        OSError: it cannot be written; the file is then as it was.
    """
    with _locked(labels_path(label.run)) as handle:
        end = os.lseek(handle, 0, os.SEEK_END)
        whole = end == 0 or os.pread(handle, 1, end - 1) == b"\n"  # an editor may have dropped the last line's end
        line = (b"" if whole else b"\n") + _line(label)
        try:
            # One call, so that a kill leaves all of the line or nothing.
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(labels_path(label.run)))
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, end)
            raise


def withdraw(labels: Sequence[HumanLabel]) -> None:
    """Takes back the lines that were added last, of one run.

    Raises:
        DataError: something else has been added since.
    """
    path, lines = labels_path(labels[0].run), b"".join(map(_line, labels))
    with _locked(path) as handle:
        end = os.lseek(handle, 0, os.SEEK_END)
        start = end - len(lines)
        if start < 0 or os.pread(handle, len(lines), start) != lines:
            raise DataError(
                f"{path} has grown or changed since; label the episode again instead, the last label counts"
            )
        os.ftruncate(handle, start)
        os.fsync(handle)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """A handle on the file that no other process of this program writes to meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _line(label: HumanLabel) -> bytes:
    return json_line(asdict(label)).encode()
