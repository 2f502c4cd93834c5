"""A project with trained policies and all that their cards are made of, without having run the pipeline."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

from tinker import AdamParams

from posttrain.engine.protocol import Engine, SavedPaths
from posttrain.files import write_json
from posttrain.ledger.fingerprint import sha256_path
from posttrain.train.checkpoint import Checkpoint, base_checkpoint, write_checkpoint
from tests.project import MODELS, ROOT
from tests.tiny import datum, ids

NUMBERS = {"n": 8, "f1": 0.5, "f1_ci": [0.2, 0.8], "em": 0.25, "searches": 1.5}
LINEAGE = "ab" * 16


def link_models(cache: Path) -> None:
    """The converted embedded model, whose tokenizer the tiny one uses too, is the user's."""
    MODELS.mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "models").symlink_to(MODELS)


async def trained(engine: Engine, name: str) -> SavedPaths:
    """An adapter far enough from the base model that forgetting it would be noticed."""
    trainer = await engine.new_trainer(4, 3)
    for step in range(2):
        await trainer.forward_backward([datum(ids(24, step), 8, weights=[1.0] * 8)], "cross_entropy")
        await trainer.optim_step(AdamParams(learning_rate=0.05))
    return await trainer.save(name)


def make_place(root: Path, engine: Engine) -> None:
    """Settings, prompts and pipeline of the repository, and models/base and models/grpo_best of `engine`."""
    root.mkdir(parents=True)
    for name in ("dvc.yaml", "prompts"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, root / name)
    shutil.copy(ROOT / "profiles/smoke.yaml", root / "params.yaml")

    async def make() -> None:
        write_checkpoint(engine, base_checkpoint(engine), root / "models/base")
        checkpoint = Checkpoint(LINEAGE, "GRPO step 4", await trained(engine, LINEAGE))
        write_checkpoint(engine, checkpoint, root / "models/grpo_best")

    asyncio.run(make())


def add_metrics(root: Path) -> None:
    """What `dvc repro` leaves beside the models."""
    metrics = {
        "prep": {"source": "miniwiki", "counts": {"train": 60, "gold": 74}, "sha256": {"test": "cd" * 32}},
        "select": {"questions": 6, "kept": 5},
        "sft": {"chosen_epoch": 2},
        "grpo": {"chosen_step": 4},
        "grpo_train": {"alarms": ["step 3: the reward fell"]},
        "test/base": {**NUMBERS, "f1": 0.0, "f1_ci": [0.0, 0.0], "em": 0.0},
        "test/grpo": NUMBERS,
        "ablation": {"arms": {"grpo": {**NUMBERS, "f1_ci": [0.25, 0.75]}}},
    }
    for name, values in metrics.items():
        write_json(root / "metrics" / f"{name}.json", values)


def add_receipt(root: Path, stage: str, **changes: Any) -> None:
    """A receipt as a paid stage leaves it."""
    receipt = {
        "stage": stage,
        "fingerprint": "ef" * 16,
        "usd": 1.25,
        "seconds": 61.4,
        "tokens": {"prefill": 1000, "cached": 0, "sampled": 200, "trained": 34},
        "finished": "2026-11-02T10:00:00+00:00",
        "params": {},
        "inputs": {"models/grpo_best": sha256_path(root / "models/grpo_best")},
        "outputs": {},
        "kept": None,
    }
    write_json(root / "receipts" / f"{stage}.json", {**receipt, **changes})


def adapter_json(folder: Path) -> dict[str, Any]:
    """The config of an exported adapter."""
    return dict(json.loads((folder / "adapter_config.json").read_text()))
