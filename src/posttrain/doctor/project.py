"""What of this project a run needs: repositories of git and DVC, and a sample store that is whole."""

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from posttrain.doctor.check import Check
from posttrain.errors import StoreError
from posttrain.ledger.database import corrupt, explaining
from posttrain.ledger.store import SampleStore

_GIT_SECONDS = 5.0
_READ_SECONDS = 8.0
"""After this long, what has been read of the sample store must do."""


def repositories_check(root: Path) -> Check:
    """Whether the project is a repository of git, with a commit, and of DVC."""
    try:
        inside, commit = _git(root, "rev-parse", "--git-dir"), _git(root, "rev-parse", "--short", "HEAD")
    except FileNotFoundError:
        return Check("FAIL", "git is not installed", "install git; DVC's experiments and the receipts rest on it")
    except subprocess.TimeoutExpired:
        return Check("FAIL", f"git does not answer in {root}", "see which other git command is under way there")
    if inside.returncode:
        todo = "clone the project with git, or `git init` and commit it"
        return Check("FAIL", f"git in {root}: {inside.stderr.strip()}", todo)
    if not (root / ".dvc" / "config").is_file():
        return Check("FAIL", f"{root} is no DVC repository", "restore .dvc with `git checkout .dvc`, or `dvc init`")
    if commit.returncode:
        return Check("warn", "git has no commit yet", "`git commit` once; DVC's experiments start from a commit")
    return Check("ok", f"git at {commit.stdout.strip()}, DVC beside it")


def store_check(path: Path) -> Check:
    """Whether the sample store opens and its pages hang together; a large one is read for a few seconds only."""
    if not path.exists():
        return Check("ok", f"none yet; the first stage makes {path}")
    size = f"{path.stat().st_size / 1e6:.1f} MB in {path}"
    with SampleStore(path), explaining(path), closing(sqlite3.connect(path)) as connection:
        deadline = time.monotonic() + _READ_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        try:
            problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            samples = connection.execute("SELECT count(*) FROM samples").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return Check("ok", f"{size}; it opens, and is too large to be read whole here")
    if problem != "ok":
        raise StoreError(corrupt(path, problem))
    return Check("ok", f"{samples:,} samples, {size}")


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
