"""A folder of exported files that appears whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from posttrain.errors import DataError, StoreError

MARK = "posttrain.json"
"""In every exported folder; `--force` replaces a folder only if it holds this."""


def check_free(out: Path, force: bool) -> None:
    """Refuses a place that something else has taken.

    Raises:
        DataError: something is there, and `force` is not given or it is no earlier export.
    """
    if not os.path.lexists(out):
        return
    if not force:
        raise DataError(f"{out} is there already; give another place, or --force to replace an earlier export")
    empty = out.is_dir() and not out.is_symlink() and not any(out.iterdir())
    if out.is_symlink() or not (empty or (out / MARK).is_file()):
        raise DataError(f"{out} is no earlier export (it holds no {MARK}), so it is not replaced; give another place")


@contextmanager
def new_folder(out: Path, force: bool) -> Iterator[Path]:
    """Yields an empty folder beside `out` that takes its place, synced to disk, when the block succeeds.

    A process killed in between leaves `out` as it was; only with `force`, between two renames, is it away for a moment.

    Raises:
        DataError: see `check_free`; also when another process takes the place meanwhile.
        StoreError: the disk is full or not writable.
    """
    check_free(out, force)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as temporary:
            made = Path(temporary) / "made"
            made.mkdir()
            yield made
            _settle(made)
            check_free(out, force)
            _put(made, out, Path(temporary) / "replaced")
    except SafetensorError as error:  # its way to say that the disk is full
        raise _no_room(out, error) from error
    except OSError as error:
        raise _no_room(out, error.strerror or error) from error


def _put(made: Path, out: Path, aside: Path) -> None:
    replaced = out.exists()
    if replaced:
        out.rename(aside)
    try:
        made.rename(out)
    except OSError as error:
        if replaced:
            aside.rename(out)
        raise DataError(f"another process has just made {out} ({error.strerror}); give another place") from error
    _sync(out.parent)


def _settle(folder: Path) -> None:
    """Readable for everybody, as files made by other programs are, and on disk."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(0o755 if path.is_dir() else 0o644)
        _sync(path)
    folder.chmod(0o755)
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _no_room(out: Path, what: object) -> StoreError:
    return StoreError(f"cannot write {out} ({what}); free some space or fix its permissions and run again")
