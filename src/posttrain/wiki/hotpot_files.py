"""Rows and paragraphs from the user's own JSON, JSONL or parquet, in the hub's schema or the official HotpotQA JSON."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.hotpot_rows import check_unicode, parse_row, text_field
from posttrain.wiki.records import read_records
from posttrain.wiki.rows import Paragraph, Row, Source, Split


def files_source(settings: DataSettings) -> Source:
    """The source for `data.source: files`; every setting it needs has passed `DataSettings.check`.

    Raises:
        DataError: a named file is missing; while rows are read, a record is malformed (named with its line).
    """
    for name in ("train_file", "dev_file", "file", "dev_ids_file", "corpus_file"):
        path = getattr(settings, name)
        if path is not None and not Path(path).is_file():
            raise DataError(f"{path} is missing; data.{name} names it")
    is_dev = _dev_rule(settings)
    contexts = settings.corpus_file is None

    def rows(split: Split) -> Iterator[Row]:
        path = settings.file or (settings.train_file if split == "train" else settings.dev_file)
        for where, record in read_records(Path(str(path))):
            if settings.file is None or is_dev(where, record) == (split == "dev"):
                yield parse_row(where, record, contexts)

    corpus_file = settings.corpus_file
    pooled = settings.file is not None and settings.split_field is None and settings.dev_ids_file is None
    return Source(rows, None if corpus_file is None else lambda: read_corpus(Path(corpus_file)), pooled=pooled)


def _dev_rule(settings: DataSettings) -> Callable[[str, dict[str, Any]], bool]:
    """Whether a record of `data.file` is a dev row; without a rule all are, and train is what test and val leave."""
    if settings.dev_ids_file is not None:
        ids = {text_field(where, record, "id", "_id") for where, record in read_records(Path(settings.dev_ids_file))}
        return lambda where, record: text_field(where, record, "id", "_id") in ids
    name, values = settings.split_field, frozenset(settings.dev_values)
    if name is None:
        return lambda where, record: True  # noqa: ARG005

    def by_field(where: str, record: dict[str, Any]) -> bool:
        if name not in record:
            raise DataError(f"{where}: no field {name!r}, which data.split_field names")
        return str(record[name]) in values

    return by_field


def read_corpus(path: Path) -> Iterator[Paragraph]:
    """Yields title and text of a ready-made corpus (fields title and text; an id is passed over).

    Raises:
        DataError: a record is malformed.
    """
    for where, record in read_records(path):
        title, text = text_field(where, record, "title"), record.get("text")
        if not isinstance(text, str):
            raise DataError(f"{where}: text should be a string, found {type(text).__name__}")
        check_unicode(where, title + text)
        yield title, text
