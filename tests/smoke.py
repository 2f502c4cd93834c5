"""What the tests of the whole pipeline share."""

import csv
import json
from pathlib import Path
from typing import Any

from filelock import FileLock

from tests.project import Project, copy_project


def committed(folder: Path) -> Project:
    """A repository with the smoke profile, in which nothing has run."""
    project = copy_project(folder)
    # One row at a time, as the loopback service computes: the rows of a batch change each other's last bits.
    project.set(engine={"batch_rows": 1})
    project.git("init", "-q")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "start")
    return project


def run_once(shared: Path) -> Project:
    """A repository in which the whole pipeline has run once on the local engine, one for all of the tests' workers."""
    folder, said = shared / "ran", shared / "ran.json"
    with FileLock(shared / "ran.lock"):
        if not said.exists():
            folder.mkdir()
            project = committed(folder)
            project.dvc("repro")
            said.write_text(json.dumps([str(project.root), dict(project.environment)]))
        root, environment = json.loads(said.read_text())
    return Project(Path(root), environment)


def ledger(project: Project) -> dict[str, Any]:
    return {one["stage"]: one for one in json.loads(project.posttrain("ledger", "--json").stdout)}


def curve(project: Project, name: str) -> list[dict[str, str]]:
    with (project.root / f"metrics/curves/{name}.csv").open() as rows:
        return list(csv.DictReader(rows))
