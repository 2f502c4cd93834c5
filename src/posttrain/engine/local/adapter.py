"""A LoRA adapter as plain tensors, in peft's own file format, and the two kinds of checkpoint made of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from posttrain.engine.protocol import SavedPaths
from posttrain.errors import DataError, EngineError
from posttrain.files import read_json, replacing_folder, write_json

ALPHA = 32  # Tinker's
OPTIMIZER = "optimizer.safetensors"
PREFIX = "base_model.model."
Kind = Literal["state", "sampler"]
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Adapter:
    """LoRA factors by peft's names: `<PREFIX><module>.lora_A.weight` (rank, in) and `.lora_B.weight` (out, rank)."""

    rank: int
    tensors: Tensors

    def deltas(self) -> dict[str, torch.Tensor]:
        """What to add to each module's weight (out, in), on the tensors' device."""
        scale = ALPHA / self.rank
        ends = ".lora_A.weight"
        return {
            name[len(PREFIX) : -len(ends)]: scale * (self.tensors[name.replace("lora_A", "lora_B")] @ down)
            for name, down in self.tensors.items()
            if name.endswith(ends)
        }


def paths_in(folder: Path) -> SavedPaths:
    """Where the two kinds of a checkpoint stand."""
    return SavedPaths(str(folder / "sampler"), str(folder / "state"))


def lora_config(rank: int) -> Any:
    """LoRA on every linear layer but the head: B = 0, no dropout, no bias (Hu et al. 2021, section 4.1)."""
    from peft import LoraConfig  # peft takes 3 s to import, and sampling does without it

    return LoraConfig(r=rank, lora_alpha=ALPHA, target_modules="all-linear", lora_dropout=0.0, task_type="CAUSAL_LM")


def save_checkpoint(
    folder: Path, kind: Kind, model: str, adapter: Adapter, optimizer: Tensors | None = None, steps: int = 0
) -> None:
    """Writes a checkpoint folder whole or not at all; an earlier one of the same name is replaced."""
    with replacing_folder(folder) as made:
        config = lora_config(adapter.rank)
        config.base_model_name_or_path = model
        config.target_modules = sorted({n.split(".lora_")[0].rsplit(".", 1)[-1] for n in adapter.tensors})
        config.save_pretrained(made)
        save_file(_detached(adapter.tensors), made / "adapter_model.safetensors")
        if optimizer is not None:
            save_file(_detached(optimizer), made / OPTIMIZER)
        write_json(made / "checkpoint.json", {"kind": kind, "model": model, "rank": adapter.rank, "steps": steps})


def load_checkpoint(folder: Path, kind: Kind, model: str) -> Adapter:
    """The adapter of a checkpoint.

    Raises:
        EngineError: the folder is missing or damaged, of the other kind, or of another model.
    """
    if not (folder / "checkpoint.json").exists():
        raise EngineError(f"no checkpoint at {folder}; `dvc repro` makes it again")
    try:
        about = read_json(folder / "checkpoint.json")
        found, owner, rank = about["kind"], about["model"], int(about["rank"])
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise EngineError(f"{folder} is damaged ({error}); delete it and run `dvc repro` again") from error
    if found != kind:
        raise EngineError(f"{folder} is not the {kind} checkpoint but its {found}; give the one saved beside it")
    if owner != model:
        raise EngineError(f"{folder} belongs to {owner}, not to engine.model {model}")
    return Adapter(rank, _load(folder / "adapter_model.safetensors"))


def load_optimizer(folder: Path) -> tuple[Tensors, int]:
    """Optimizer moments and the number of steps taken.

    Raises:
        EngineError: the checkpoint was saved without them.
    """
    path = folder / OPTIMIZER
    if not path.exists():
        raise EngineError(f"{folder} holds no optimizer state; load it with a fresh optimizer")
    return _load(path), int(read_json(folder / "checkpoint.json")["steps"])


def _load(path: Path) -> Tensors:
    try:
        tensors: Tensors = load_file(path)
        return tensors
    except (OSError, SafetensorError) as error:
        raise EngineError(f"{path} cannot be read ({error}); delete its folder and run `dvc repro` again") from error


def _detached(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().float().cpu().contiguous() for name, tensor in tensors.items()}
