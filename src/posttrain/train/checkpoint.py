"""A policy as a pipeline output: a folder with `checkpoint.json` and whatever the engine keeps beside it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posttrain.engine.protocol import Engine, Sampler, SavedPaths
from posttrain.errors import DataError
from posttrain.files import read_json, replacing_folder, write_json
from posttrain.ledger.store import SampleStore
from posttrain.rollout.policy import Policy
from posttrain.train.learner import Learner

FILE = "checkpoint.json"


@dataclass(frozen=True)
class Checkpoint:
    """A policy's lineage, a label for readers, and its saved weights; `saved` is None for the untrained model."""

    lineage: str
    label: str
    saved: SavedPaths | None

    def policy(self, engine: Engine, store: SampleStore) -> Policy:
        """The policy, frozen; weights are loaded when a sample is missing."""

        async def sampler() -> Sampler:
            if self.saved is None:
                return await engine.base_sampler()
            return await engine.load_sampler(self.saved.sampler)

        return Policy(self.lineage, store, sampler)

    def learner(self, engine: Engine, store: SampleStore, rank: int, seed: int) -> Learner:
        """The policy in training; the untrained model gets a fresh adapter of this rank and seed."""
        if self.saved is None:
            return Learner.new(engine, store, rank, seed)
        return Learner.continuing(engine, store, self.lineage, self.saved.state)


def base_checkpoint(engine: Engine) -> Checkpoint:
    """The untrained model."""
    return Checkpoint(engine.base_lineage, "base", None)


def write_checkpoint(engine: Engine, checkpoint: Checkpoint, folder: Path) -> None:
    """Publishes a checkpoint as `folder`, whole or not at all."""
    with replacing_folder(folder) as made:
        saved = engine.publish(checkpoint.saved, made) if checkpoint.saved else None
        about = {"lineage": checkpoint.lineage, "label": checkpoint.label, "saved": asdict(saved) if saved else None}
        write_json(made / FILE, about)


def read_checkpoint(folder: Path) -> Checkpoint:
    """Reads what `write_checkpoint` wrote.

    Raises:
        DataError: the folder is missing or not a checkpoint.
    """
    return parse_checkpoint(read_json(folder / FILE), folder)


def parse_checkpoint(about: Any, folder: Path) -> Checkpoint:
    """A checkpoint from the content of `checkpoint.json` in `folder`, which need not be there yet.

    Raises:
        DataError: it is not one.
    """
    try:
        saved = about["saved"]
        paths = None
        if saved:
            # Hosted paths are URLs and stay; local ones are relative to the folder.
            located = {kind: path if "://" in path else str(folder / path) for kind, path in saved.items()}
            paths = SavedPaths(**located)
        return Checkpoint(about["lineage"], about["label"], paths)
    except (KeyError, TypeError) as error:
        raise DataError(f"{folder / FILE} is not a checkpoint ({error}); run `dvc repro` to make it again") from error
