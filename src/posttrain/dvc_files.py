"""Files that DVC writes in place, so that a kill at the wrong moment leaves half of one."""

import json
import time
from pathlib import Path

import yaml

from posttrain.errors import DataError
from posttrain.pipeline import LOADER

_WRITING = 0.5
"""Seconds after which a file that another process is writing is whole again."""


def mend_dvc_files(root: Path) -> str | None:
    """Removes DVC's list of who reads and writes what if it is torn, for no process can use it; says so.

    Raises:
        DataError: dvc.lock is torn; only git has the one before.
    """
    lock = root / "dvc.lock"
    if lock.exists() and _broken_yaml(lock):
        raise DataError(
            f"{lock} is not whole, as a kill while DVC wrote it leaves it; run `git checkout dvc.lock` and then `dvc "
            "repro`: what was sampled and trained since is replayed"
        )
    holders = root / ".dvc" / "tmp" / "rwlock"
    if not _broken_json(holders):
        return None
    time.sleep(_WRITING)
    if not _broken_json(holders):
        return None
    holders.unlink(missing_ok=True)
    return f"removed {holders}, of which a kill had left a part"


def _broken_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return False


def _broken_yaml(path: Path) -> bool:
    try:
        found = yaml.load(path.read_bytes(), Loader=LOADER)
    except yaml.YAMLError:
        return True
    return not isinstance(found, dict)
