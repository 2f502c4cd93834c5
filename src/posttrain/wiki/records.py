"""Reading JSON, JSONL and parquet one record at a time, each with the place where it stands."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from posttrain.errors import DataError

Located = tuple[str, dict[str, Any]]
"""Where a record stands (file and line, or file and number of the record) and the record."""
_CHUNK = 1 << 20
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def read_records(path: Path) -> Iterator[Located]:
    """Yields the objects of a .json array, .jsonl or .parquet file one at a time, holding only a part of the file.

    Raises:
        DataError: the file is missing, holds no records, or one of them is malformed.
    """
    readers = {".json": _json_records, ".jsonl": _jsonl_records, ".parquet": _parquet_records}
    if path.suffix not in readers:
        raise DataError(f"{path}: unknown kind of file; use {', '.join(readers)}")
    found = False
    try:
        for where, record in readers[path.suffix](path):
            if not isinstance(record, dict):
                raise DataError(f"{where}: expected an object, found {type(record).__name__}")
            found = True
            yield where, record
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; data.*_file settings name the files to read") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}") from error
    if not found:
        raise DataError(f"{path}: holds no records")


def _jsonl_records(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield f"{path}:{number}", json.loads(line)
                except (json.JSONDecodeError, RecursionError) as error:
                    raise DataError(f"{path}:{number}: not valid JSON: {error}") from error


def _json_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Reads an array item by item, because the official train file is half a gigabyte."""
    with path.open(encoding="utf-8-sig") as source:
        text, at = _unspaced("", 0, source)
        if not text.startswith("[", at):
            raise DataError(f"{path}: expected a JSON array of questions; use .jsonl for one object a line")
        text, at = _unspaced(text, at + 1, source)
        number = 0
        while not text.startswith("]", at):
            number += 1
            where = f"{path} record {number}"
            record, text, at = _next_value(where, text, at, source)
            yield where, record
            text, at = _unspaced(text, at, source)
            if text.startswith(",", at):
                text, at = _unspaced(text, at + 1, source)
            elif not text.startswith("]", at):
                raise DataError(f"{where}: the array does not go on with a comma or end with a bracket")
        text, at = _unspaced(text, at + 1, source)
        if text:
            raise DataError(f"{path}: something follows the array after record {number}")


def _unspaced(text: str, at: int, source: TextIO) -> tuple[str, int]:
    """Text and the place in it that follows the white space from `at` on, read on until there is something.

    What stands before the place is left in the text: cutting it off for each record would copy gigabytes.
    """
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty text too
        if at < len(text):
            return text, at
        text, at = source.read(_CHUNK), 0
        if not text:
            return "", 0


def _next_value(where: str, text: str, at: int, source: TextIO) -> tuple[Any, str, int]:
    """Decodes one value, reading twice as much each time that it is cut off; returns it, the text and its end there."""
    while True:
        error: Exception = ValueError("the array does not end")
        try:
            record, end = _DECODER.raw_decode(text, at)
            if end < len(text):
                return record, text, end
        except (json.JSONDecodeError, RecursionError) as failure:
            error = failure
        more = source.read(max(_CHUNK, len(text) - at))
        if not more:
            raise DataError(f"{where}: not valid JSON: {error}") from error
        text, at = text[at:] + more, 0


def _parquet_records(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f"{path}: reading parquet needs pyarrow; `pip install pyarrow`, or use .jsonl") from error
    try:
        number = 0
        # Read piece by piece: by default the whole row group is fetched first, and that may be the whole file.
        file = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=_CHUNK)
        for batch in file.iter_batches(batch_size=500):
            for record in batch.to_pylist():
                number += 1
                yield f"{path} record {number}", record
    except pyarrow.ArrowException as error:
        raise DataError(f"{path}: not a readable parquet file: {str(error).splitlines()[0]}") from error
