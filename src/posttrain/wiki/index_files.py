"""What lies in an index directory, and how it is known to be whole and to belong to its corpus.

The arrays, vocabulary and parameters are in bm25s's own format, so that `bm25s.BM25.load` reads them. Beside them lie
the byte offset of each document in the corpus and a manifest: where the corpus is relative to the index, the stop
words, and size and sampled SHA-256 of every file. The corpus itself is not copied.
"""

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posttrain.errors import DataError, StoreError

FORMAT = 1
MANIFEST = "manifest.json"
DATA = "data.csc.index.npy"
INDICES = "indices.csc.index.npy"
INDPTR = "indptr.csc.index.npy"
VOCABULARY = "vocab.index.json"
PARAMETERS = "params.index.json"
OFFSETS = "offsets.npy"
FILES = (DATA, INDICES, INDPTR, VOCABULARY, PARAMETERS, OFFSETS)

_PIECES = 64
_PIECE_BYTES = 4096


def fingerprint(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of 64 evenly spaced pieces of 4 KiB (first and last included; small files whole).

    About a millisecond for any file: it notices another or a cut file, not every flipped bit.
    """
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as data:
        if size <= _PIECES * _PIECE_BYTES:
            digest.update(data.read())
        else:
            for piece in range(_PIECES):
                data.seek((size - _PIECE_BYTES) * piece // (_PIECES - 1))
                digest.update(data.read(_PIECE_BYTES))
    return {"size": size, "sampled_sha256": digest.hexdigest()}


def write_manifest(index: Path, out: Path, corpus: Path, stop_words: list[str]) -> None:
    """Describes the files in `index`, which is to become `out`."""
    manifest = {
        "format": FORMAT,
        "corpus": {"path": Path(os.path.relpath(corpus, out)).as_posix(), **fingerprint(corpus)},
        "stop_words": stop_words,
        "files": {name: fingerprint(index / name) for name in FILES},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (index / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


def read_manifest(index: Path) -> dict[str, Any]:
    """The manifest of an index whose files are all as they were written.

    Raises:
        DataError: there is no index, or a file of it is missing, damaged or of another version.
    """
    try:
        manifest: dict[str, Any] = json.loads((index / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise damaged(index, f"{MANIFEST} has format {manifest['format']}, this version reads {FORMAT}")
        for name in FILES:
            if fingerprint(index / name) != manifest["files"][name]:
                raise damaged(index, f"{name} is not the file that was written")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise damaged(index, f"{Path(str(error.filename)).name} is missing") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(index, f"{MANIFEST} cannot be read: {error!r}") from error
    return manifest


def corpus_of(index: Path, manifest: dict[str, Any]) -> Path:
    """The corpus the index was built from, found relative to the index.

    Raises:
        DataError: the corpus has been moved or holds other bytes than the index was built from.
    """
    written = dict(manifest["corpus"])
    corpus = Path(os.path.normpath(Path(os.path.abspath(index)) / written.pop("path")))
    try:
        found = fingerprint(corpus)
    except OSError as error:
        raise DataError(
            f"the corpus of the index {index} is not at {corpus}: put it back there (`dvc checkout`), "
            "or run `dvc repro index` where it is now"
        ) from error
    if found != written:
        raise DataError(
            f"{corpus} is not the corpus that {index} was built from ({found['size']:,} bytes now, "
            f"{written['size']:,} then); run `dvc repro index`"
        )
    return corpus


def damaged(index: Path, reason: str) -> DataError:
    return DataError(f"the index {index} cannot be used: {reason}; run `dvc repro index`")


@contextmanager
def replacing_directory(path: Path) -> Iterator[Path]:
    """Yields an empty directory beside `path` that takes its place, synced to disk, when the block succeeds.

    Raises:
        StoreError: the disk is full or not writable; `path` is then as it was.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        temporary.chmod(0o755)
        yield temporary
        for written in temporary.iterdir():
            with written.open("rb") as data:
                os.fsync(data.fileno())
        _exchange(temporary, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise StoreError(
                f"cannot write {path}: {error.strerror}; free some space or fix its permissions and run again"
            ) from error
        raise
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _exchange(new: Path, path: Path) -> None:
    """Puts `new` where `path` is. A directory cannot be renamed over a full one, so the old one steps aside first."""
    if not path.exists():
        new.rename(path)
        return
    old = path.rename(new.with_name(f"{new.name}.old"))
    try:
        new.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old)
