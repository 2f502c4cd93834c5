"""Writes a run of the project as an Inspect log; needs the extra `inspect`."""

from collections.abc import Collection
from pathlib import Path

from posttrain.errors import SettingsError
from posttrain.files import read_jsonl, sha256_file
from posttrain.settings import read_params
from posttrain.wiki.cases import SPLITS, read_run
from posttrain.wiki.chat import open_chat
from posttrain.wiki.questions import PREP


def export_run(name: str, out: Path) -> int:
    """Writes the run as `out`; returns its number of episodes.

    Raises:
        SettingsError: inspect-ai is not installed, or params.yaml cannot be read.
        DataError: there is no such run, or it is damaged.
        EngineError: the model's tokenizer cannot be had.
        StoreError: the disk is full or not writable.
    """
    run, params = read_run(name), read_params(Path("params.yaml"))
    try:
        from posttrain.wiki.inspect_log import About, write_log
    except ImportError as error:
        if str(error.name).partition(".")[0] != "inspect_ai":
            raise
        raise SettingsError('the log is written by inspect-ai: pip install "posttrain[inspect]"') from error
    split, file = _split({case.episode.id for case in run.cases})
    about = About(
        model=f"{params['engine']['name']}/{params['engine']['model']}",
        split=split,
        dataset=f"{params['data']['source']} {split}",
        location=str(file) if file else None,
        sha256=sha256_file(file) if file else None,
        params=params,
    )
    write_log(run, about, open_chat(), out)
    return len(run.cases)


def _split(ids: Collection[str]) -> tuple[str, Path | None]:
    """The split that holds all these questions, and its file."""
    for split in SPLITS:
        file = PREP / f"{split}.jsonl"
        if ids and file.exists() and {str(row.get("id")) for row in read_jsonl(file)}.issuperset(ids):
            return split, file
    return "unknown split", None
