"""Holds dvc.yaml's code deps against the import closures of its stages' scripts."""

import os
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from posttrain.closure import import_closure
from posttrain.errors import DataError
from posttrain.files import replacing

SOURCE = Path("src")
"""Below the project's root, in which or in a folder of which a pipeline lies."""


def differences(pipeline: Path) -> list[str]:
    """One line per file that a stage lacks among its deps, or has without importing it."""
    lines = []
    for name, stage in _stages(_read(pipeline)).items():
        wanted, found = set(_wanted(stage, pipeline.parent)), {dep for dep in stage["deps"] if is_code(dep)}
        lines += [f"{name}: add {dep}" for dep in sorted(wanted - found)]
        lines += [f"{name}: drop {dep}" for dep in sorted(found - wanted)]
    return lines


def rewrite(pipeline: Path) -> None:
    """Puts each stage's closure in the place of its code deps, data deps first."""
    document = _read(pipeline)
    for stage in _stages(document).values():
        stage["deps"] = [dep for dep in stage["deps"] if not is_code(dep)] + _wanted(stage, pipeline.parent)
    with replacing(pipeline) as temporary:
        _yaml().dump(document, temporary)


def is_code(dep: str) -> bool:
    """Whether a dep is a Python file of the project."""
    return dep.endswith(".py")


def _wanted(stage: dict[str, Any], folder: Path) -> list[str]:
    script = next(word for word in stage["cmd"].split() if word.endswith(".py"))
    root = folder if (folder / SOURCE).is_dir() else folder / ".."
    return [os.path.relpath(path, folder) for path in import_closure(folder / script, root / SOURCE)]


def _read(pipeline: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = _yaml().load(pipeline.read_text(encoding="utf-8"))
        _stages(document)
    except (YAMLError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{pipeline}: not a pipeline: {' '.join(str(error).split())}; mend it and run again") from error
    return document


def _stages(document: dict[str, Any]) -> dict[str, Any]:
    return {name: stage.get("do", stage) for name, stage in document["stages"].items()}


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml
