"""Where things live: what was paid for in the user's cache directory, what a run needs to continue in the project."""

import os
from pathlib import Path

from posttrain.errors import SettingsError


def default_path() -> Path:
    """The cache directory, shared by all clones: $POSTTRAIN_CACHE, else $XDG_CACHE_HOME/posttrain, else ~/.cache."""
    if chosen := os.environ.get("POSTTRAIN_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification tells programs to ignore a relative path.
    return (base if base.is_absolute() else Path.home() / ".cache") / "posttrain"


def samples_path() -> Path:
    """The sample store's file."""
    return default_path() / "samples.sqlite"


def checkpoints_dir() -> Path:
    """Holds weights saved under their lineage."""
    return default_path() / "checkpoints"


def models_dir() -> Path:
    """Holds base models in the form that the local engine loads."""
    return default_path() / "models"


def project_root() -> Path:
    """$DVC_ROOT (the original repository, also inside an experiment's temporary copy), else found from here upwards.

    Raises:
        SettingsError: neither the working directory nor a parent holds dvc.yaml.
    """
    if root := os.environ.get("DVC_ROOT"):
        return Path(root)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "dvc.yaml").is_file():
            return folder
    raise SettingsError(f"no dvc.yaml in {here} or above it; change to the project's directory and run again")


def state_dir() -> Path:
    """Holds locks and whatever a killed stage continues from; outside DVC's outs, so `dvc repro` leaves it alone."""
    return project_root() / ".posttrain" / "state"
