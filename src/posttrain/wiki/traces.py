"""A run's episodes beside their scores: what `show`, `mask`, `label` and the report read."""

from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import DataError
from posttrain.files import Row, read_jsonl
from posttrain.rollout.episode import Episode

RUNS = Path("runs")


@dataclass(frozen=True)
class Trace:
    """One episode; `scored` is its row of scored.jsonl, None in a run that has not been scored."""

    episode: Episode
    scored: Row | None


def run_folder(name: str) -> Path:
    """The folder of a run named as `test/grpo`, `runs/test/grpo` or by any path.

    Raises:
        DataError: there is none; the message lists those there are.
    """
    for folder in (Path(name), RUNS / name):
        if (folder / "episodes.jsonl").is_file():
            return folder
    there = ", ".join(run_names())
    raise DataError(f"no run {name}: " + (f"there are {there}" if there else f"{RUNS}/ is empty; `dvc repro` fills it"))


def run_names() -> list[str]:
    """Names of all runs, sorted."""
    return sorted(str(path.parent.relative_to(RUNS)) for path in RUNS.rglob("episodes.jsonl"))


def read_traces(folder: Path) -> list[Trace]:
    """The run's episodes in the order of the file.

    Raises:
        DataError: a file is missing or malformed, or the scores are of other episodes.
    """
    rows = [_episode(row, folder) for row in read_jsonl(folder / "episodes.jsonl")]
    if not (folder / "scored.jsonl").exists():
        return [Trace(episode, None) for episode in rows]
    scored = list(read_jsonl(folder / "scored.jsonl"))
    if [episode.id for episode in rows] != [row.get("id") for row in scored]:
        raise DataError(f"{folder}/scored.jsonl scores other episodes than {folder}/episodes.jsonl; run `dvc repro`")
    return [Trace(episode, row) for episode, row in zip(rows, scored, strict=True)]


def _episode(row: Row, folder: Path) -> Episode:
    try:
        return Episode.from_row({key: value for key, value in row.items() if key != "trace"})
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}/episodes.jsonl: {row.get('id')} is no episode: {error}; run `dvc repro`") from error
