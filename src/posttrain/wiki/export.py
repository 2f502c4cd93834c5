"""A policy of the pipeline as a folder that others can load: weights, tokenizer, model card."""

from importlib import metadata
from pathlib import Path

from posttrain.chat.format import ChatFormat
from posttrain.engine.open import open_engine
from posttrain.engine.protocol import Engine
from posttrain.engine.settings import EngineSettings, ServiceSettings
from posttrain.errors import EngineError
from posttrain.export.adapter import write_adapter
from posttrain.export.download import download_adapter
from posttrain.export.folder import MARK, check_free, new_folder
from posttrain.export.merged import write_merged
from posttrain.files import write_json, write_text
from posttrain.settings import load
from posttrain.train.checkpoint import Checkpoint
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.model_card import hub_name, model_card
from posttrain.wiki.policies import check_base, is_hosted, open_policy


def export_policy(folder: Path, out: Path, merged: bool, force: bool) -> None:
    """Writes the policy of checkpoint `folder` as `out`: a peft adapter, or full weights if `merged`, with its card.

    Raises:
        DataError: the checkpoint is missing, `out` is taken, or a metrics file or receipt is damaged.
        SettingsError: params.yaml or dvc.yaml cannot be read.
        EngineError: the policy cannot be had in this form, or belongs to another model.
        InfrastructureError: the service failed. StoreError: the disk is full.
    """
    settings, service = load("engine", EngineSettings), load("service", ServiceSettings, changes_results=False)
    checkpoint = open_policy(folder, settings)
    _check_form(folder, checkpoint, settings, merged)
    check_free(out, force)
    card = model_card(checkpoint, merged)
    engine = open_engine(settings, service)
    try:
        check_base(folder, checkpoint, engine)
        with new_folder(out, force) as made:
            if is_hosted(checkpoint) and checkpoint.saved is not None:
                download_adapter(checkpoint.saved.state, settings.model, made, service)
            else:
                _write_local(checkpoint, settings, engine, made, merged)
            write_text(made / "README.md", card)
            write_json(made / MARK, _about(checkpoint, settings, merged))
    finally:
        engine.close()


def _check_form(folder: Path, checkpoint: Checkpoint, settings: EngineSettings, merged: bool) -> None:
    if merged and settings.name == "tinker":
        raise EngineError(
            "full weights of a hosted policy need its base model on this machine; leave out --merged and merge the "
            "adapter where that model is, by peft's merge_and_unload()"
        )
    if checkpoint.saved is None and not merged:
        raise EngineError(f"{folder} is the untrained model, which has no adapter; give --merged, or another --policy")


def _write_local(checkpoint: Checkpoint, settings: EngineSettings, engine: Engine, made: Path, merged: bool) -> None:
    adapter = None
    if checkpoint.saved is not None:
        adapter = write_adapter(Path(checkpoint.saved.sampler), settings.model, hub_name(settings.model), made)
    if merged:
        for file in made.iterdir():  # an adapter beside them would be loaded on top of the merged weights
            file.unlink()
        end = ChatFormat.of(engine.tokenizer).end
        write_merged(settings, engine.tokenizer, end, load("harness", HarnessSettings).max_tokens, adapter, made)
    else:
        engine.tokenizer.save_pretrained(made)


def _about(checkpoint: Checkpoint, settings: EngineSettings, merged: bool) -> dict[str, str]:
    return {
        "made_by": f"posttrain {metadata.version('posttrain')}",
        "form": "merged" if merged else "adapter",
        "policy": checkpoint.label,
        "lineage": checkpoint.lineage,
        "base": hub_name(settings.model) or Path(settings.model).name,
        "engine": settings.name,
    }
