"""A local checkpoint as a plain peft adapter: the two files that `PeftModel.from_pretrained` reads."""

import shutil
from pathlib import Path
from typing import Any

from posttrain.engine.local.adapter import Adapter, load_checkpoint
from posttrain.errors import EngineError
from posttrain.files import read_json, write_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def write_adapter(checkpoint: Path, model: str, base: str | None, folder: Path) -> Adapter:
    """Copies a sampler checkpoint's adapter into `folder`, byte for byte but for the name of its base model.

    `base` is what others find the base model by; None if there is no such name.

    Raises:
        EngineError: the checkpoint is missing or damaged, or of another model than `model`.
        DataError: its config is missing or not JSON.
    """
    adapter = load_checkpoint(checkpoint, "sampler", model)
    config = check_config(read_json(checkpoint / CONFIG), checkpoint / CONFIG)
    write_json(folder / CONFIG, {**config, "base_model_name_or_path": base, "inference_mode": True})
    shutil.copyfile(checkpoint / WEIGHTS, folder / WEIGHTS)
    return adapter


def check_config(config: Any, where: Path) -> dict[str, Any]:
    """What peft needs in order to load a LoRA adapter.

    Raises:
        EngineError: it is something else.
    """
    if not isinstance(config, dict) or config.get("peft_type") != "LORA" or not isinstance(config.get("r"), int):
        raise EngineError(f"{where} describes no LoRA adapter; run `dvc repro` to make the checkpoint again")
    return dict(config)
