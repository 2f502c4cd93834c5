"""All of params.yaml at once: every section, and what only shows when two are seen together."""

from pathlib import Path
from typing import Any

from posttrain.engine.settings import EngineSettings, LoraSettings
from posttrain.errors import SettingsError
from posttrain.settings import closest, load, read_params
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.ablation import AblationSettings
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.index import IndexSettings
from posttrain.wiki.settings import (
    ColdstartSettings,
    CollectSettings,
    EvaluateSettings,
    PriceSettings,
    RunSettings,
    SelectSettings,
)

SECTIONS: dict[str, type[Any]] = {
    "run": RunSettings,
    "data": DataSettings,
    "index": IndexSettings,
    "engine": EngineSettings,
    "lora": LoraSettings,
    "harness": HarnessSettings,
    "evaluate": EvaluateSettings,
    "coldstart": ColdstartSettings,
    "collect": CollectSettings,
    "select": SelectSettings,
    "sft": SftSettings,
    "grpo": GrpoSettings,
    "ablation": AblationSettings,
    "prices": PriceSettings,
}


def check_params(path: Path) -> None:
    """Raises SettingsError, naming the key, on the first thing wrong with the file."""
    for section in read_params(path):
        if section not in SECTIONS:
            near = closest(section, SECTIONS)
            hint = f"; did you mean {near}?" if near else f"; the sections are {', '.join(SECTIONS)}"
            raise SettingsError(f"{path}: unknown section {section}{hint}")
    settings = {section: load(section, cls, path) for section, cls in SECTIONS.items()}
    _check_questions(path, settings)


def _check_questions(path: Path, settings: dict[str, Any]) -> None:
    """No train question serves two stations, and there are enough of them."""
    uses = [
        ("collect", 0, settings["collect"].questions),
        ("coldstart", settings["coldstart"].offset, settings["coldstart"].demonstrations),
        ("grpo", settings["grpo"].offset, settings["grpo"].steps * settings["grpo"].questions),
    ]
    ranges = sorted((first, first + count, name) for name, first, count in uses if count)
    for (_, end, name), (start, _, following) in zip(ranges, ranges[1:], strict=False):
        if start < end:
            raise SettingsError(
                f"{path}: {following} would reuse train questions of {name}; set {following}.offset to {end} or more"
            )
    available = settings["data"].train
    if available is not None and ranges[-1][1] > available:
        raise SettingsError(
            f"{path}: {ranges[-1][2]} needs {ranges[-1][1]} train questions and data.train is {available}; raise it"
        )
