"""Which settings a DVC stage declares: what it reads without declaring, DVC would not rerun it for."""

from pathlib import Path
from typing import Any

import yaml

from posttrain.errors import SettingsError


def declared_keys(stage: str, params: Path) -> frozenset[str]:
    """The sections (`grpo`) and dotted keys (`data.seed`) of file `params` under the stage's `params:` in dvc.yaml.

    `stage` is what DVC puts into DVC_STAGE: a name, with `@item` if the stage is one of a matrix, and with
    `folder/dvc.yaml:` in front if it was started from elsewhere. The dvc.yaml beside `params` is the one read.

    Raises:
        SettingsError: dvc.yaml cannot be read or has no such stage.
    """
    pipeline = params.parent / "dvc.yaml"
    try:
        document = yaml.safe_load(pipeline.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise SettingsError(
            f"{pipeline}: cannot read what stage {stage} declares: {problem}; unset DVC_STAGE outside of DVC"
        ) from error
    stages = document.get("stages") if isinstance(document, dict) else None
    name = stage.rsplit(":", 1)[-1].split("@", 1)[0]
    if not isinstance(stages, dict) or not isinstance(stages.get(name), dict):
        raise SettingsError(f"{pipeline}: has no stage {name}; unset DVC_STAGE outside of DVC")
    template = stages[name]
    body = template["do"] if "foreach" in template else template
    return frozenset(_keys(body.get("params") or [], params.name))


def _keys(entries: list[Any], file: str) -> list[str]:
    # An entry is a key of params.yaml, or a mapping from another file to its keys.
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [str(key) for key in entry.get(file) or []]
        elif file == "params.yaml":
            found.append(str(entry))
    return found
