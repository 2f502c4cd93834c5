"""What a run will need of disk and memory, reckoned from its settings and from what runs of known size took."""

import math
from dataclasses import dataclass
from pathlib import Path

from posttrain.doctor.machine import Need
from posttrain.doctor.model import EMBEDDED, parameters
from posttrain.engine.settings import EngineSettings, LoraSettings
from posttrain.settings import load
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.settings import CollectSettings

HOTPOT_PARAGRAPHS, HOTPOT_CORPUS = 507_494, 308e6
_MINIWIKI_PARAGRAPH = 270.0
_INDEX = 0.85
"""Bytes of index for a byte of corpus, at 507,494 paragraphs."""
_TOKEN = 40.0
"""Bytes of episodes.jsonl for a token: number, flag, log probability and text."""
_ARMS = 6
_ADAPTER, _RANK, _WEIGHTS = 19.6e6, 16, 135e6
"""An adapter's bytes at this rank on a model of so many weights; it grows with the square root of these."""
_LIBRARIES, _CACHED_KEYS = 1.0e9, 0.5e9
_ACTIVATIONS = 3.0e6
"""Bytes for a token of a micro-batch, fp32, on a model of `_WEIGHTS`: the default run takes 5.7 GB in all."""


@dataclass(frozen=True)
class Needs:
    """Room on the project's disk and on the cache directory's, and memory."""

    project: Need
    cache: Need
    memory: Need


def needs_of(params: Path) -> Needs:
    """What the run that a params file describes will need.

    Raises:
        SettingsError: a section cannot be read.
    """
    engine = load("engine", EngineSettings, params)
    corpus, tokens, saves = _corpus_bytes(load("data", DataSettings, params), params.parent), _tokens(params), 0
    adapter = weights = 0.0
    if engine.name == "local":
        weights = parameters(engine.model) or _WEIGHTS
        adapter = _ADAPTER * load("lora", LoraSettings, params).rank / _RANK * math.sqrt(weights / _WEIGHTS)
        saves = 1 + load("sft", SftSettings, params).epochs + len(load("grpo", GrpoSettings, params).saved_steps())
    written = corpus * (1 + _INDEX) + tokens * _TOKEN + saves * 2 * adapter
    checkpoints = f" and {saves} checkpoints" if saves else ""
    project = Need(
        2 * written, f"corpus, index, {tokens / 1e6:.1f} M tokens of episodes{checkpoints}, once more in DVC's cache"
    )
    # A checkpoint is kept in both kinds, one of them with the optimizer's two moments.
    kept = tokens * _TOKEN / 4 + saves * 4 * adapter + (4 * weights if engine.model == EMBEDDED else 0)
    return Needs(project, Need(kept, f"samples{checkpoints}"), _memory(engine, weights, corpus))


def _memory(engine: EngineSettings, weights: float, corpus: float) -> Need:
    station = _LIBRARIES + 2 * corpus
    if engine.name != "local":
        return Need(station, "libraries, questions and index")
    of_weight = 4 if engine.dtype == "float32" else 2
    token = _ACTIVATIONS * of_weight / 4 * math.sqrt(weights / _WEIGHTS)
    # Twice the weights: those that an adapter is merged into are kept as they were, too.
    training = _LIBRARIES + _CACHED_KEYS + 2 * of_weight * weights + engine.micro_batch_tokens * token
    how = f"{weights / 1e6:,.0f} M weights twice, {engine.micro_batch_tokens} tokens of a micro-batch"
    return Need(max(training, station), f"{how}; on a GPU, of its memory" if engine.device != "cpu" else how)


def _corpus_bytes(data: DataSettings, root: Path) -> float:
    if data.source == "hotpotqa":
        return HOTPOT_CORPUS
    if data.source == "miniwiki":
        return data.paragraphs * _MINIWIKI_PARAGRAPH
    names = [data.corpus_file] if data.corpus_file else [data.file, data.train_file, data.dev_file]
    files = [root / name for name in names if name]
    # Parquet is compressed to about half.
    return sum(file.stat().st_size * (2 if file.suffix == ".parquet" else 1) for file in files if file.is_file())


def _tokens(params: Path) -> int:
    """Tokens of all episodes, each at its longest."""
    data, harness = load("data", DataSettings, params), load("harness", HarnessSettings, params)
    collect, sft, grpo = (
        load("collect", CollectSettings, params),
        load("sft", SftSettings, params),
        load("grpo", GrpoSettings, params),
    )
    measured = data.val * (2 + len(sft.evaluate) + len(grpo.evaluate)) + data.test * _ARMS
    episodes = collect.questions * collect.tries + grpo.steps * grpo.questions * grpo.group + measured
    passage = 1.3 * (harness.passage_words or 100)
    return round(episodes * (300 + harness.max_searches * harness.top_k * passage))
