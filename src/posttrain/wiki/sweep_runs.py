"""The experiments of a sweep as DVC knows them: settings, metrics and, from its cache, a score per question."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dvc.api import DVCFileSystem
from dvc.exceptions import DvcException
from dvc.repo import Repo

from posttrain.errors import DataError
from posttrain.track.run import flat

SEED = "run.seed"
CHANGES_NOTHING = ("budget.", "service.", "track.")
"""Sections that no stage declares: two experiments that differ in these alone are one configuration."""
FINISHED = "finished"
ATTEMPTS = 5


@dataclass(frozen=True)
class Split:
    """Where the GRPO policy's scores on a split are: a metrics file, and scored rows per question."""

    metrics: str
    rows: str


SPLITS = {
    "val": Split("metrics/grpo.json", "runs/grpo/{chosen_step}/scored.jsonl"),
    "test": Split("metrics/test/grpo.json", "runs/test/grpo/scored.jsonl"),
}


@dataclass(frozen=True)
class Experiment:
    """One experiment.

    Attributes:
        name: as DVC calls it. rev: its commit. made: when, as text that sorts.
        state: "finished", or why it has no result: queued, running, failed, …
        params: settings by dotted key, numbers as numbers, without the seed and what changes no result.
        seed: `run.seed`.
        metrics: content of the split's metrics file.
        code: hash of each Python file that a stage depends on.
        outs: hash of each output.
    """

    name: str
    rev: str
    made: str
    state: str
    params: dict[str, Any]
    seed: Any
    metrics: dict[str, Any]
    code: dict[str, str]
    outs: dict[str, str]


def read_experiments(root: Path, rev: str, split: Split) -> tuple[dict[str, Any], list[Experiment]]:
    """The settings of commit `rev`, and the experiments that were started from it, oldest first.

    Raises:
        DataError: the folder is no DVC repository, or there is no such commit.
    """
    states = _states(root, rev)
    found, base = [], dict[str, Any]()
    for state in states:
        if state["rev"] == "workspace":
            continue
        base, _ = _settings(state.get("data") or {})
        for each in state.get("experiments") or ():
            # The first revision is the last: those behind it are checkpoints on the way.
            found.append(_experiment(each, split))
    return base, sorted(found, key=lambda experiment: (experiment.made, experiment.name))


def _states(root: Path, rev: str) -> list[dict[str, Any]]:
    """What `dvc exp show --json` prints."""
    try:
        for _ in range(ATTEMPTS):
            # A queued experiment's folder can go while DVC looks into it.
            with suppress(FileNotFoundError), Repo(str(root)) as repo:
                return [state.dumpd() for state in repo.experiments.show(revs=rev)]
    except DvcException as error:
        raise DataError(f"{root}: {' '.join(str(error).split())}; run this in the project, on a commit") from error
    raise DataError("the experiments change faster than DVC can read them; wait for `dvc queue status` to be quiet")


def question_scores(root: Path, experiment: Experiment, split: Split, metric: str) -> dict[str, float] | str:
    """A score per question id, or why there is none to be had."""
    path = split.rows.format_map({"chosen_step": "?", **experiment.metrics})
    try:
        scores = {str(row["id"]): row.get(metric) for row in _rows(root, experiment, path)}
    except (DvcException, OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{path} of {experiment.name} is not in the DVC cache"
    kept = {key: float(value) for key, value in scores.items() if isinstance(value, int | float)}
    if not kept or len(kept) < len(scores):
        return f"{path} of {experiment.name} has no {metric} for every question"
    if abs(sum(kept.values()) / len(kept) - experiment.metrics[metric]) > 1e-6:
        return f"{metric} of {split.metrics} is not the mean of that in {path}"
    return kept


def _rows(root: Path, experiment: Experiment, path: str) -> Iterator[dict[str, Any]]:
    for line in _text(root, experiment, path).splitlines():
        if line.strip():
            yield json.loads(line)


def _text(root: Path, experiment: Experiment, path: str) -> str:
    if digest := experiment.outs.get(path):
        with Repo(str(root)) as repo:
            cached = Path(repo.cache.local.oid_to_path(digest))
        if cached.is_file():  # else DVC looks for it in a remote, which takes seconds for each experiment
            return cached.read_text(encoding="utf-8")
    text: str = DVCFileSystem(repo=str(root), rev=experiment.rev).read_text(path, encoding="utf-8")
    return text


def _experiment(shown: Mapping[str, Any], split: Split) -> Experiment:
    last = (shown.get("revs") or [{}])[0]
    data, executor = last.get("data") or {}, shown.get("executor") or {}
    params, seed = _settings(data)
    metrics = (data.get("metrics") or {}).get(split.metrics) or {}
    content = metrics.get("data")
    state = str(executor.get("state") or "success")
    if state == "success":
        state = FINISHED if isinstance(content, dict) else f"no {split.metrics}"
    return Experiment(
        name=str(shown.get("name") or last.get("name") or last.get("rev", "")[:7]),
        rev=str(last.get("rev", "")),
        made=str(data.get("timestamp") or ""),
        state=state,
        params=params,
        seed=seed,
        metrics=content if isinstance(content, dict) else {},
        code={path: digest for path, digest in _hashes(data.get("deps")) if path.endswith(".py")},
        outs=dict(_hashes(data.get("outs"))),
    )


def _settings(data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    document = ((data.get("params") or {}).get("params.yaml") or {}).get("data") or {}
    found = {key: value for key, value in flat(document).items() if not key.startswith(CHANGES_NOTHING)}
    seed = found.pop(SEED, None)
    return {key: as_number(value) for key, value in found.items()}, seed


def as_number(value: Any) -> Any:
    """Numbers as floats, for `-S` writes 1 where params.yaml has 1.0, and 2e-05, which YAML reads as text."""
    try:
        return value if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
    except ValueError:
        return value


def _hashes(files: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    for path, about in (files or {}).items():
        if about.get("hash"):
            yield path, str(about["hash"])
