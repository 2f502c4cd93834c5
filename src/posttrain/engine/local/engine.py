"""The local engine: one model in this process, sampled from and trained."""

import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posttrain.engine.local.adapter import OPTIMIZER, load_checkpoint, load_optimizer, paths_in
from posttrain.engine.local.load import load_model, load_tokenizer, weights_fingerprint
from posttrain.engine.local.sampler import LocalSampler, MergedModel
from posttrain.engine.local.worker import compute
from posttrain.engine.protocol import SavedPaths
from posttrain.engine.settings import EngineSettings
from posttrain.ledger.lineage import base_lineage
from posttrain.ledger.places import checkpoints_dir

if TYPE_CHECKING:
    from posttrain.engine.local.trainer import LocalTrainer


class LocalEngine:
    """Implements `Engine` with torch and peft. The same seed gives the same bytes on the same machine."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return load_tokenizer(self._settings.model)

    @cached_property
    def base_lineage(self) -> str:
        """The name of the untrained policy."""
        settings = self._settings
        return base_lineage("local", f"{settings.model}:{settings.dtype}", weights_fingerprint(settings.model))

    @cached_property
    def _merged(self) -> MergedModel:
        return MergedModel(load_model(self._settings))

    async def base_sampler(self) -> LocalSampler:
        """The untrained policy."""
        return LocalSampler(self._merged, None, self._settings.batch_rows)

    async def load_sampler(self, path: str) -> LocalSampler:
        """A policy saved for sampling; see `Engine.load_sampler`."""
        adapter = load_checkpoint(Path(path), "sampler", self._settings.model)
        return LocalSampler(self._merged, adapter, self._settings.batch_rows)

    async def new_trainer(self, rank: int, seed: int) -> "LocalTrainer":
        """A fresh adapter; `seed` draws its random half."""
        return await compute(self._trainer, rank, seed)

    async def load_trainer(self, path: str, optimizer: bool) -> "LocalTrainer":
        """A policy saved for training; see `Engine.load_trainer`."""
        adapter = load_checkpoint(Path(path), "state", self._settings.model)
        trainer = await compute(self._trainer, adapter.rank, 0)
        trainer.restore(adapter, load_optimizer(Path(path)) if optimizer else None)
        return trainer

    def find_saved(self, name: str) -> SavedPaths | None:
        """Checkpoints saved in the user's cache directory by any run."""
        saved = paths_in(checkpoints_dir() / name)
        return saved if all((Path(p) / "checkpoint.json").exists() for p in (saved.sampler, saved.state)) else None

    def adopt(self, name: str, saved: SavedPaths) -> bool:  # noqa: ARG002
        """Whether the published folders are there."""
        return all(Path(path).is_dir() for path in (saved.sampler, saved.state))

    def publish(self, saved: SavedPaths, folder: Path) -> SavedPaths:
        """Copies the adapter in both kinds, without the optimizer's moments."""
        for kind, source in (("sampler", saved.sampler), ("state", saved.state)):
            shutil.copytree(source, folder / kind, ignore=shutil.ignore_patterns(OPTIMIZER))
        return SavedPaths("sampler", "state")

    def close(self) -> None:
        """Nothing is held outside this process."""

    def _trainer(self, rank: int, seed: int) -> "LocalTrainer":
        from posttrain.engine.local.trainer import new_trainer  # peft takes 3 s to import, and only training needs it

        return new_trainer(self._settings, self._merged, rank, seed)
