"""A whole params.yaml: every section of a recipe, and none that it does not have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posttrain.errors import SettingsError
from posttrain.settings import closest, load, read_params


def load_sections(path: Path, sections: Mapping[str, type[Any]]) -> dict[str, Any]:
    """The settings of all `sections`, by name; also within a stage, which need not declare all that is checked here.

    Raises:
        SettingsError: an unknown section, or the first thing wrong with a known one, by its key.
    """
    for section in read_params(path):
        if section not in sections:
            near = closest(section, sections)
            hint = f"; did you mean {near}?" if near else f"; the sections are {', '.join(sections)}"
            raise SettingsError(f"{path}: {section}: unknown section{hint}")
    return {section: load(section, cls, path, changes_results=False) for section, cls in sections.items()}
