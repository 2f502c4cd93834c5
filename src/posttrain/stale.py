"""What `dvc repro` would run and why, followed through the pipeline: `dvc status` looks one step ahead only."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx
from dvc.exceptions import DvcException
from dvc.repo import Repo

from posttrain.errors import DataError


@dataclass(frozen=True)
class Due:
    """A stage that would run.

    changes: what changed of its own, as `path` or `params.yaml: key`. upstream: stages before it that would run.
    """

    stage: str
    changes: tuple[str, ...]
    upstream: tuple[str, ...]


def due_stages(root: Path) -> list[Due]:
    """Stages in the order in which they would run.

    One with nothing but `upstream` is skipped after all if what those make turns out as it was.

    Raises:
        DataError: the folder is no DVC repository, or its pipeline cannot be read.
    """
    try:
        with Repo(str(root)) as repo:
            status = repo.status()
            graph = repo.index.graph  # edges lead from a stage to what it needs
            # Those of other folders are pipelines by themselves, which a plain `dvc repro` leaves alone.
            names = {stage: stage.addressing for stage in graph if stage.path_in_repo == "dvc.yaml"}
    except DvcException as error:
        raise DataError(f"{root}: {' '.join(str(error).split())}; mend dvc.yaml, or run this in the project") from error
    due: dict[str, Due] = {}
    for stage in networkx.dfs_postorder_nodes(graph):
        if stage not in names:
            continue
        name = names[stage]
        changes = tuple(_changes(status.get(name, ())))
        upstream = tuple(sorted(names[needed] for needed in graph.successors(stage) if names[needed] in due))
        if changes or upstream:
            due[name] = Due(name, changes, upstream)
    return list(due.values())


def _changes(entries: Any) -> list[str]:
    """The names in DVC's status of one stage: mappings by kind, and plain words such as `always changed`."""
    found: list[str] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            found.append(str(entry))
            continue
        for changed in entry.values():
            if not isinstance(changed, Mapping):
                found.append(str(changed))
                continue
            for path, how in changed.items():
                keys = how if isinstance(how, Mapping) else {}
                found += [f"{path}: {key}" for key in keys] or [path if how == "modified" else f"{path} ({how})"]
    return found
