"""The checkpoint folders of the pipeline, and whether one fits the engine that the settings name."""

from pathlib import Path

from posttrain.engine.protocol import Engine
from posttrain.engine.settings import EngineSettings
from posttrain.errors import DataError, EngineError
from posttrain.train.checkpoint import FILE, Checkpoint, read_checkpoint

MODELS = Path("models")
BY_STAGE = ("grpo_best", "sft_best", "coldstart", "base")
"""What the stages hand on, the latest first."""


def latest_policy() -> Path:
    """The folder of the latest stage that has one.

    Raises:
        DataError: no stage has.
    """
    for name in BY_STAGE:
        if (MODELS / name / FILE).exists():
            return MODELS / name
    raise DataError(
        f"{MODELS}/ holds no policy yet; `dvc repro choose_grpo` trains one, `posttrain restore` puts back hosted ones "
        "that receipts name"
    )


def open_policy(folder: Path, settings: EngineSettings) -> Checkpoint:
    """Reads a checkpoint folder.

    Raises:
        DataError: it is missing or no checkpoint.
        EngineError: the other engine saved it.
    """
    if not (folder / FILE).exists():
        raise DataError(f"{folder} holds no {FILE}; give a folder such as models/grpo_best, or run `dvc repro`")
    checkpoint = read_checkpoint(folder)
    if checkpoint.saved is not None and is_hosted(checkpoint) != (settings.name == "tinker"):
        wanted = "tinker" if is_hosted(checkpoint) else "local"
        raise EngineError(
            f"{folder} was saved by engine {wanted}, and engine.name is {settings.name}; set the engine's settings to "
            "what it was trained with, or give another folder"
        )
    return checkpoint


def is_hosted(checkpoint: Checkpoint) -> bool:
    """Whether its weights lie on the service."""
    return checkpoint.saved is not None and "://" in checkpoint.saved.state


def check_base(folder: Path, checkpoint: Checkpoint, engine: Engine) -> None:
    """Refuses a policy whose untrained model is not the engine's: its samples would be stored under a wrong name.

    A checkpoint of the pipeline is known by models/base beside it; an adapter from elsewhere only says its model.

    Raises:
        EngineError: engine.model, engine.dtype or TINKER_BASE_URL is not what it was trained with.
    """
    base = checkpoint if checkpoint.saved is None else _base_beside(folder)
    if base is not None and base.lineage != engine.base_lineage:
        raise EngineError(
            f"{folder} was made from another model than engine.model, engine.dtype and TINKER_BASE_URL say now; set "
            "them back, or run `dvc repro`"
        )


def _base_beside(folder: Path) -> Checkpoint | None:
    base = MODELS / "base"
    inside = folder.resolve().is_relative_to(MODELS.resolve())
    return read_checkpoint(base) if inside and (base / FILE).exists() else None
