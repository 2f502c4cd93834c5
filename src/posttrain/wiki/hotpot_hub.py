"""Rows of hotpotqa/hotpot_qa from the Hugging Face hub, streamed at a pinned commit."""

from collections.abc import Iterator
from typing import Any

from posttrain.errors import DataError, SettingsError
from posttrain.hub import SECONDS, ask_hub
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.hotpot_rows import parse_row
from posttrain.wiki.rows import Row, Source, Split

REPOSITORY, CONFIG = "hotpotqa/hotpot_qa", "distractor"
_HUB_SPLITS = {"train": "train", "dev": "validation"}
_ROWS_AT_ONCE = 200
"""By default it is a whole row group, which may be the whole file."""
_ELSE = "use data.source files or miniwiki"


def hub_source(settings: DataSettings) -> Source:
    """The source for `data.source: hotpotqa`, with corpus paragraphs taken from the rows' contexts.

    Raises:
        SettingsError: the package `datasets` is not installed.
        DataError: while rows are read, the hub or the revision cannot be had, or a row is malformed.
    """
    try:
        import datasets
    except ImportError as error:
        raise SettingsError(
            "data.source hotpotqa needs the package datasets; `pip install 'posttrain[hub]'`, or use source miniwiki"
        ) from error

    def rows(split: Split) -> Iterator[Row]:
        name = _HUB_SPLITS[split]
        # Asked first: `datasets` itself would try for half a minute, and then speak of local folders.
        commit = resolve(settings.revision or "")
        for number, record in enumerate(_records(datasets.load_dataset, name, commit), 1):
            yield parse_row(f"{REPOSITORY} {name} row {number}", record)

    return Source(rows, corpus=None, strict=False)


def resolve(revision: str) -> str:
    """The commit (40 hex digits) that a revision of the dataset stands for.

    Raises:
        DataError: the hub cannot be reached or refuses, or has no such revision.
    """
    what = f"{REPOSITORY} at revision {revision}"
    info = ask_hub(lambda hub: hub.dataset_info(REPOSITORY, revision=revision, timeout=SECONDS), what, _ELSE)
    return str(info.sha)


def _records(load_dataset: Any, name: str, commit: str) -> Iterator[dict[str, Any]]:
    try:
        yield from load_dataset(
            REPOSITORY, CONFIG, split=name, revision=commit, streaming=True, batch_size=_ROWS_AT_ONCE
        )
    except Exception as error:  # of `datasets`, its file systems, their HTTP libraries and Arrow
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"reading {REPOSITORY} at {commit} broke off: {type(error).__name__}: {reason}; run `dvc repro prep` "
            f"again, or {_ELSE}"
        ) from error
