"""One stage of dvc.yaml as it will run: command, deps, declared params and outs, templates filled in.

Read from the YAML itself: importing DVC takes 1.3 s, which every station would pay.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from posttrain.errors import SettingsError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads YAML; the one in C is ten times as fast, and not on every machine."""

_REFERENCE = re.compile(r"\$\{([\w.]+)\}")


@dataclass(frozen=True)
class Stage:
    """A stage; paths are as dvc.yaml gives them, relative to its folder. `outs` has metrics and plots too."""

    name: str
    cmd: str
    deps: tuple[str, ...]
    params: frozenset[str]
    outs: tuple[str, ...]


def read_stage(name: str, params: Path) -> Stage:
    """The stage that DVC runs as `name`, from the dvc.yaml beside file `params`.

    `name` is what DVC puts into DVC_STAGE: with `@item` if the stage is one of a matrix, and with
    `folder/dvc.yaml:` in front if it was started from elsewhere. `params` holds the stage's sections (`grpo`) and
    dotted keys (`data.seed`) of that file.

    Raises:
        SettingsError: dvc.yaml cannot be read or has no such stage.
    """
    pipeline = params.parent / "dvc.yaml"
    name = name.rsplit(":", 1)[-1]
    base, _, item = name.partition("@")
    template = _templates(pipeline, base).get(base)
    if not isinstance(template, dict):
        raise SettingsError(f"{pipeline}: has no stage {base}; unset DVC_STAGE outside of DVC")
    values = _values(template.get("foreach"), item)
    body = template["do"] if "foreach" in template else template

    def filled(entries: Any) -> tuple[str, ...]:
        # An entry is a path, or a mapping from the path to its options.
        texts = (next(iter(entry)) if isinstance(entry, dict) else str(entry) for entry in entries or [])
        return tuple(_filled(text, values) for text in texts)

    outs = filled([*(body.get("outs") or []), *(body.get("metrics") or []), *(body.get("plots") or [])])
    keys = frozenset(_keys(body.get("params") or [], params.name))
    return Stage(name, _filled(str(body.get("cmd", "")), values), filled(body.get("deps")), keys, outs)


def _templates(pipeline: Path, base: str) -> dict[str, Any]:
    try:
        document = yaml.load(pipeline.read_text(encoding="utf-8"), Loader=LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise SettingsError(
            f"{pipeline}: cannot read what stage {base} declares: {problem}; unset DVC_STAGE outside of DVC"
        ) from error
    stages = document.get("stages") if isinstance(document, dict) else None
    return stages if isinstance(stages, dict) else {}


def _values(foreach: Any, item: str) -> dict[str, str]:
    """What `${item}`, `${item.name}` and `${key}` stand for; a list's items are their own names."""
    if not isinstance(foreach, dict):
        return {"item": item}
    chosen = foreach.get(item)
    inner = chosen.items() if isinstance(chosen, dict) else ()
    return {"key": item, "item": str(chosen), **{f"item.{name}": str(value) for name, value in inner}}


def _filled(text: str, values: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda match: values.get(match[1], match[0]), text)


def _keys(entries: list[Any], file: str) -> list[str]:
    # An entry is a key of params.yaml, or a mapping from another file to its keys.
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [str(key) for key in entry.get(file) or []]
        elif file == "params.yaml":
            found.append(str(entry))
    return found
