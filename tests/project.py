"""The repository copied to a temporary place, to run its real stages and commands on the smoke profile."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from posttrain.ledger.places import models_dir

ROOT = Path(__file__).parents[1]
MODELS = models_dir()
"""Converted once and shared by all tests, as by all clones: converting the embedded model takes 20 s."""
TIMEOUT = 400
"""Seconds for one command; on an idle machine the longest, a whole pipeline, takes about 90."""

Done = subprocess.CompletedProcess[str]


@cache
def tracked() -> list[str]:
    """Files of the repository as they are now, committed or not, without results and tests."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    results = ("metrics/", "tests/", "dvc.lock", "report.md", "euler/metrics/", "euler/dvc.lock", "euler/climb/next")
    return [name for name in names if (ROOT / name).is_file() and not name.startswith(results)]


@dataclass(frozen=True)
class Project:
    """A copy of the repository with a cache of its own."""

    root: Path
    environment: Mapping[str, str]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Starts Python on these arguments, with Ctrl-C working even if the tests run in the background of a shell."""
        limit = options.pop("preexec_fn", None)

        def prepare() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if limit is not None:
                limit()

        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(
            [sys.executable, *arguments], cwd=self.root, env=self.environment, preexec_fn=prepare, **pipes, **options
        )

    def python(self, *arguments: str, limit: Callable[[], None] | None = None) -> Done:
        """Runs Python on these arguments to the end; `limit` is called in the child first."""
        process = self.start(*arguments, preexec_fn=limit)
        try:
            out, errors = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

    def stage(self, name: str, *arguments: str, limit: Callable[[], None] | None = None) -> Done:
        """Runs a stage's script."""
        return self.python(f"stages/{name}.py", *arguments, limit=limit)

    def posttrain(self, *arguments: str) -> Done:
        """Runs the command line."""
        return self.python("-m", "posttrain.cli", *arguments)

    def dvc(self, *arguments: str) -> str:
        """Runs DVC, which must succeed; returns what it and the stages print."""
        done = self.python("-m", "dvc", *arguments)
        assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def git(self, *arguments: str) -> str:
        """Runs git, which must succeed."""
        command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True).stdout

    def set(self, **sections: Mapping[str, Any]) -> None:
        """Changes settings, section by section."""
        file = self.root / "params.yaml"
        params = yaml.safe_load(file.read_text())
        for name, changes in sections.items():
            params[name] = {**params.get(name, {}), **changes}
        file.write_text(yaml.safe_dump(params, sort_keys=False))

    def copy(self, folder: Path, **environment: str) -> "Project":
        """A copy at `folder`/project, results and cache included, with further environment variables."""
        root, cache_dir = folder / "project", folder / "cache of the copy"
        shutil.copytree(self.root, root, symlinks=True)
        shutil.copytree(self.environment["POSTTRAIN_CACHE"], cache_dir, symlinks=True)
        own = {"PYTHONPATH": str(root / "src"), "POSTTRAIN_CACHE": str(cache_dir)}
        return Project(root, {**self.environment, **own, **environment})

    @property
    def store(self) -> Path:
        """The sample store."""
        return Path(self.environment["POSTTRAIN_CACHE"], "samples.sqlite")

    def samples(self) -> int:
        """Rows of the sample store, 0 before there is one."""
        if not self.store.exists():
            return 0
        connection = sqlite3.connect(self.store)
        try:
            return int(connection.execute("SELECT count(*) FROM samples").fetchone()[0])
        except sqlite3.OperationalError:  # made, and its tables not yet
            return 0
        finally:
            connection.close()


def copy_project(folder: Path, models: Path = MODELS) -> Project:
    """Copies the repository to `folder`/project, with the smoke profile in place."""
    root, cache_dir = folder / "project", folder / "cache"
    for name in tracked():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    shutil.copy(root / "profiles/smoke.yaml", root / "params.yaml")
    models.mkdir(parents=True, exist_ok=True)
    cache_dir.mkdir(exist_ok=True)
    (cache_dir / "models").symlink_to(models)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_", "PYTHON"))}
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(root / "src"),
        "POSTTRAIN_CACHE": str(cache_dir),
        "DVC_NO_ANALYTICS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return Project(root, {**kept, **own})
