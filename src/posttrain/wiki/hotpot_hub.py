"""Rows of hotpotqa/hotpot_qa from the Hugging Face hub, streamed at a pinned commit."""

from collections.abc import Iterator

from posttrain.errors import DataError, SettingsError
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.hotpot_rows import parse_row
from posttrain.wiki.rows import Row, Source, Split

REPOSITORY, CONFIG = "hotpotqa/hotpot_qa", "distractor"
_HUB_SPLITS = {"train": "train", "dev": "validation"}


def hub_source(settings: DataSettings) -> Source:
    """The source for `data.source: hotpotqa`, with corpus paragraphs taken from the rows' contexts.

    Raises:
        SettingsError: the package `datasets` is not installed.
        DataError: while rows are read, the hub cannot be reached or a row is malformed.
    """
    try:
        import datasets
    except ImportError as error:
        raise SettingsError(
            "data.source hotpotqa needs the package datasets; `pip install 'posttrain[hub]'`, or use source miniwiki"
        ) from error

    def rows(split: Split) -> Iterator[Row]:
        name = _HUB_SPLITS[split]
        try:
            records = datasets.load_dataset(REPOSITORY, CONFIG, split=name, revision=settings.revision, streaming=True)
            for number, record in enumerate(records, 1):
                yield parse_row(f"{REPOSITORY} {name} row {number}", record)
        except (OSError, ValueError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise DataError(
                f"cannot read {REPOSITORY} at revision {settings.revision}: {reason}; check the "
                "network and data.revision, or use data.source files or miniwiki"
            ) from error

    return Source(rows, corpus=None, strict=False)
