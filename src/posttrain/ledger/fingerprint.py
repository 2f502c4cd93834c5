"""What a stage's result depends on, hashed: its command, its deps and the params it declares."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.files import sha256_file
from posttrain.pipeline import Stage, read_stage
from posttrain.settings import read_params


@dataclass(frozen=True)
class Inputs:
    """A stage, the SHA-256 of each dep (hex), and the values of the params that it declares."""

    stage: Stage
    deps: dict[str, str]
    params: dict[str, Any]

    @cached_property
    def fingerprint(self) -> str:
        """Of everything, code included: equal ones make equal outputs."""
        return self._hash(self.deps)

    @cached_property
    def data_fingerprint(self) -> str:
        """Of all but the code: an edit that changes no sample leaves it as it is."""
        return self._hash({path: digest for path, digest in self.deps.items() if not path.endswith(".py")})

    def _hash(self, deps: dict[str, str]) -> str:
        text = json.dumps([self.stage.cmd, deps, self.params], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def stage_inputs(name: str, params: Path) -> Inputs:
    """Hashes what stage `name` depends on; `params` is the params file, its folder the pipeline's.

    Raises:
        SettingsError: dvc.yaml or the params file cannot be read, or has no such stage or key.
        DataError: a dep is missing.
    """
    stage, document = read_stage(name, params), read_params(params)
    values = {key: _value(document, key) for key in sorted(stage.params)}
    return Inputs(stage, {dep: sha256_path(params.parent / dep) for dep in stage.deps}, values)


def sha256_path(path: Path) -> str:
    """Hex SHA-256 of a file, or of a folder's file names and their hashes.

    Raises:
        DataError: nothing is there.
    """
    if path.is_file():
        return sha256_file(path)
    if not path.is_dir():
        raise DataError(f"{path} is missing; `dvc repro` makes the pipeline's files, git has the others")
    files = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    listing = json.dumps([[file, sha256_file(path / file)] for file in files])
    return hashlib.sha256(listing.encode()).hexdigest()


def _value(document: dict[str, Any], key: str) -> Any:
    value: Any = document
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
