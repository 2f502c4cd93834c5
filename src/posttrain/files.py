"""Reading and writing files so that a crash leaves either the old content or the new, never a part."""

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posttrain.errors import DataError, StoreError

Row = dict[str, Any]
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")
"""No text in UTF-8 can hold one, and a model's output or a broken file may."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path` that takes its place, synced to disk, when the block succeeds.

    Raises:
        StoreError: the disk is full or not writable; `path` is then as it was.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.fchmod(handle, 0o644)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StoreError(
                f"cannot write {path}: {error.strerror}; free some space or fix its permissions and run again"
            ) from error
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yields an empty temporary folder beside `path` that takes its place when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        yield made
        if path.exists():
            path.rename(Path(temporary) / "replaced")
        made.rename(path)


def copy_folder(folder: Path, out: Path) -> None:
    """Puts a copy of `folder` in the place of `out`, whole or not at all."""
    with replacing_folder(out) as made:
        shutil.copytree(folder, made, dirs_exist_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Writes one JSON document, indented and newline-terminated, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def json_line(row: Row) -> str:
    """One JSON object on one line: keys in the order given, newline-terminated; only half surrogates are escaped."""
    text = json.dumps(row, ensure_ascii=False)
    return _HALF_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def write_jsonl(path: Path, rows: Iterable[Row]) -> None:
    """Writes one JSON object a line, atomically, without holding the rows in memory."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json_line(row))


def read_json(path: Path) -> Any:
    """Reads one JSON document.

    Raises:
        DataError: the file is missing or not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; `dvc repro` makes the pipeline's files") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid JSON: {error}") from error


def read_jsonl(path: Path) -> Iterator[Row]:
    """Yields the objects of a JSON Lines file; blank lines are passed over.

    Raises:
        DataError: the file is missing, or a line is not a JSON object (named by its number).
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}:{number}: not valid JSON: {error}") from error
                if not isinstance(row, dict):
                    raise DataError(f"{path}:{number}: expected a JSON object, found {type(row).__name__}")
                yield row
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; `dvc repro` makes the pipeline's files") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}") from error


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
