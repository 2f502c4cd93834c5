"""What an exported policy was trained on and how, as its model card says it: from receipts, settings and metrics."""

from pathlib import Path
from typing import Any, TypeVar

from posttrain.engine.settings import EngineSettings, LoraSettings
from posttrain.export.card import table
from posttrain.files import read_json
from posttrain.ledger.receipt import read_receipt, receipt_path
from posttrain.settings import load
from posttrain.train.checkpoint import Checkpoint
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.limits import ONE_SEED, WORLDS
from posttrain.wiki.settings import ColdstartSettings, CollectSettings, RunSettings, SelectSettings

T = TypeVar("T")
STEPS = ("cold start", "SFT", "GRPO")
"""How the labels of checkpoints begin, in the order of training."""
LIMITS = (
    "It was trained and measured with one harness, one corpus and one search engine; elsewhere it may do worse.",
    ONE_SEED,
    "It answers in a few words, in English, without saying how sure it is, and can be wrong about what it read.",
    "Nothing was done to make it safe or fair beyond what the base model brings; it must not decide about people.",
    "Whoever can write into the corpus can steer it: paragraphs reach it unfiltered.",
)


def data(settings: DataSettings) -> str:
    """Source, sizes and the hash of the test questions."""
    levels = ", ".join(f"{level} {share:g}" for level, share in settings.levels.items())
    about = {
        "miniwiki": (
            f"miniwiki, a world that posttrain generates (seed {settings.seed}): {settings.paragraphs:,} paragraphs "
            f"about made-up people, places and works; shares of questions by difficulty: {levels}."
        ),
        "hotpotqa": (
            f"HotpotQA (`hotpotqa/hotpot_qa`, distractor setting, revision `{settings.revision}`). The paragraphs of "
            "all its questions together are the corpus that is searched."
        ),
        "files": "Question files of HotpotQA's shape that the trainer supplied, and the corpus that belongs to them.",
    }
    said, prep = about[settings.source], _metrics("prep")
    if prep is None or prep["source"] != settings.source:
        return said
    counts = ", ".join(f"{name} {count:,}" for name, count in prep["counts"].items() if name != "gold")
    return f"{said} Rows: {counts}. SHA-256 of the test questions: `{prep['sha256']['test']}`."


def recipe(checkpoint: Checkpoint, engine: EngineSettings) -> str:
    """A row for every step up to this checkpoint."""
    if checkpoint.saved is None:
        return "None: this is the base model."
    done = next((i for i, step in enumerate(STEPS) if checkpoint.label.startswith(step)), len(STEPS) - 1)
    rows = [*_coldstart(), *(_sft() if done > 0 else ()), *(_grpo() if done > 1 else ())]
    rank, seed = _used("sft", "lora", LoraSettings).rank, _used("sft", "run", RunSettings).seed
    precision = f" in {engine.dtype}" if engine.name == "local" else ""
    return (
        f"{table(('step', 'what'), rows)}\n\nLoRA of rank {rank}{precision}, AdamW without weight decay, seed {seed}. "
        "Only the agent's own replies are trained on, never prompts or search results."
    )


def limitations(checkpoint: Checkpoint, settings: DataSettings) -> str:
    """What a reader must not expect."""
    world = WORLDS.get(settings.source)
    trained = _metrics("grpo_train") if checkpoint.label.startswith("GRPO") else None
    alarms = [f"Alarm during GRPO, {alarm}." for alarm in (trained or {}).get("alarms", ())]
    return "\n".join(f"- {line}" for line in [*([world] if world else []), *LIMITS, *alarms])


def _coldstart() -> list[tuple[str, str]]:
    settings = _used("coldstart", "coldstart", ColdstartSettings)
    how = f"{settings.epochs} epochs, batch {settings.batch}, peak learning rate {settings.lr:g}"
    return [("cold start", f"{settings.demonstrations} scripted episodes, {how}")] if settings.demonstrations else []


def _sft() -> list[tuple[str, str]]:
    collect, sft = _used("collect", "collect", CollectSettings), _used("sft", "sft", SftSettings)
    selected, chosen = _metrics("select"), _metrics("sft")
    kept = "" if selected is None else f": {selected['kept']} of {selected['questions']} questions gave one"
    best = "" if chosen is None else f"; epoch {chosen['chosen_epoch']} was best on val"
    return [
        (
            "rejection sampling",
            f"{collect.tries} tries at each of {collect.questions:,} train questions at temperature "
            f"{collect.temperature:g}; the shortest that searched and reached F1 "
            f"{load('select', SelectSettings).min_f1:g} is kept{kept}",
        ),
        ("SFT", f"{sft.epochs} epochs over them, batch {sft.batch}, peak learning rate {sft.lr:g}{best}"),
    ]


def _grpo() -> list[tuple[str, str]]:
    grpo, chosen = _used("grpo", "grpo", GrpoSettings), _metrics("grpo")
    best = "" if chosen is None else f"; step {chosen['chosen_step']} was best on val"
    return [
        (
            "GRPO",
            f"{grpo.steps} steps of {grpo.questions} fresh questions with {grpo.group} attempts each at temperature "
            f"{grpo.temperature:g}; loss {grpo.loss}, advantages {grpo.advantages}, learning rate {grpo.lr:g}{best}",
        )
    ]


def _used(stage: str, section: str, cls: type[T]) -> T:
    """A section as the stage's receipt says it ran with; without a receipt, as params.yaml has it now."""
    path = receipt_path(stage)
    values = read_receipt(path)["params"].get(section) if path.exists() else None
    return cls(**values) if isinstance(values, dict) else load(section, cls)


def _metrics(name: str) -> dict[str, Any] | None:
    path = Path("metrics", f"{name}.json")
    return dict(read_json(path)) if path.exists() else None
