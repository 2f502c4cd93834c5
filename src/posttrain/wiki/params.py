"""All of params.yaml at once: every section, and what only shows when two are seen together."""

import itertools
from pathlib import Path
from typing import Any

from posttrain.engine.settings import EngineSettings, LoraSettings, ServiceSettings
from posttrain.errors import SettingsError
from posttrain.ledger.price import BudgetSettings, PriceSettings
from posttrain.sections import load_sections
from posttrain.track.settings import TrackSettings
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.ablation_settings import AblationSettings
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.index_settings import IndexSettings
from posttrain.wiki.settings import (
    ColdstartSettings,
    CollectSettings,
    EvaluateSettings,
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
    "budget": BudgetSettings,
    "service": ServiceSettings,
    "track": TrackSettings,
}


def check_params(path: Path) -> None:
    """Raises SettingsError, naming the key, on the first thing wrong with the file."""
    _check_questions(path, load_sections(path, SECTIONS))


def _check_questions(path: Path, settings: dict[str, Any]) -> None:
    """No train question serves two stations, and there are enough of them."""
    uses = [
        ("collect.questions", 0, settings["collect"].questions),
        ("coldstart.offset", settings["coldstart"].offset, settings["coldstart"].demonstrations),
        ("grpo.offset", settings["grpo"].offset, settings["grpo"].steps * settings["grpo"].questions),
    ]
    ranges = sorted((first, first + count, key) for key, first, count in uses if count)
    for (_, end, key), (start, _, following) in itertools.pairwise(ranges):
        if start < end:
            # Of two that begin together, the one that can be moved is named.
            if following == "collect.questions":
                key, following = following, key
            station = key.split(".")[0]
            raise SettingsError(f"{path}: {following}: must leave the train questions of {station} alone, is {start}")
    available = settings["data"].train
    if available is not None and ranges[-1][1] > available:
        station = ranges[-1][2].split(".")[0]
        raise SettingsError(f"{path}: data.train: must be at least {ranges[-1][1]} for {station}, is {available}")
