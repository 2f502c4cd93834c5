"""Full weights: the base model with the adapter added in, as the local engine samples from it."""

from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from posttrain.engine.local.adapter import Adapter
from posttrain.engine.local.load import load_model
from posttrain.engine.local.sampler import MergedModel
from posttrain.engine.settings import EngineSettings


def write_merged(
    settings: EngineSettings, tokenizer: Any, end: int, max_tokens: int, adapter: Adapter | None, folder: Path
) -> None:
    """Writes weights, tokenizer and generation settings that load by `AutoModelForCausalLM.from_pretrained` alone.

    Generation is greedy, as measured, ends with the token `end` and after `max_tokens` at the latest.

    Raises:
        EngineError: the base model cannot be had.
    """
    merged = MergedModel(load_model(settings))
    with torch.no_grad():
        merged.install(adapter)
    model = merged.model.causal
    model.generation_config = GenerationConfig(
        do_sample=False, max_new_tokens=max_tokens, eos_token_id=end, pad_token_id=end
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
