"""A whole small training run with a synthetic game and reward, as a function of a folder, for tests that kill it."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from posttrain.engine.local.engine import LocalEngine
from posttrain.ledger.store import SampleStore
from posttrain.progress import Progress
from posttrain.rollout.episode import End, Episode
from posttrain.rollout.policy import Policy
from posttrain.rollout.runner import Rollouts, Runner
from posttrain.train.checkpoint import Checkpoint, write_checkpoint
from posttrain.train.curve import Curve
from posttrain.train.grpo import Groups, Recipe, train_grpo
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.learner import Learner
from posttrain.train.sft import Training, train_sft
from tests.tiny import drawing, games, ids, tiny_chat, tiny_engine

GRPO = GrpoSettings(
    steps=5,
    questions=2,
    group=3,
    offset=0,
    lr=0.01,
    temperature=1.0,
    save_every=2,
    evaluate=[5],
    loss="importance_sampling",
    advantages="mean",
    overlap=False,
    concurrency=6,
)
TRAINING = Training(epochs=2, batch=2, lr=0.02)


def step_of(episode: Episode) -> int:
    """The step that plays an episode's task, from 1."""
    return int(episode.id[1:]) // GRPO.questions + 1


def low_tokens(episode: Episode) -> float:
    """The share of sampled tokens in the lower half of the vocabulary."""
    flags = [token < 24576 for token, flag in zip(episode.tokens, episode.sampled, strict=True) if flag]
    return sum(flags) / max(len(flags), 1)


@dataclass
class Played:
    """What a run did: samples drawn and policies used by step."""

    drawn: Counter[int] = field(default_factory=Counter)
    lineages: dict[int, str] = field(default_factory=dict)
    episodes: dict[int, Groups] = field(default_factory=dict)


def run_grpo(
    folder: Path,
    settings: GrpoSettings = GRPO,
    reward: Callable[[Episode], float] = low_tokens,
    engine: LocalEngine | None = None,
    seed: int = 0,
) -> Played:
    """Trains, leaving curve.csv, episodes.jsonl and models/ in `folder`."""
    played = Played()
    engine = engine or tiny_engine()

    async def play(policy: Policy, step: int) -> Groups:
        tasks = games(settings.questions, (step - 1) * settings.questions)
        rollouts = Rollouts(settings.group, settings.concurrency, drawing(8, settings.temperature))
        with Progress("games", len(tasks), "game") as progress:
            groups = await Runner(policy, tiny_chat(), rollouts, progress).run(tasks)
        played.drawn[step] += policy.sampled
        played.lineages[step] = policy.lineage
        played.episodes[step] = groups
        return groups

    recipe = Recipe(play, reward, lambda episode: {"turns": float(episode.turns)}, lambda _, tokens: tokens * 1e-6)
    with SampleStore(folder / "samples.sqlite") as store:
        learner = Learner.new(engine, store, 4, seed)
        curve = Curve(folder / "curve.csv")
        saved = asyncio.run(train_grpo(learner, recipe, settings, curve))
        for step, (lineage, paths) in saved.items():
            write_checkpoint(engine, Checkpoint(lineage, f"grpo@{step}", paths), folder / "models" / str(step))
    rows = [
        episode.to_row() for step in sorted(played.episodes) for group in played.episodes[step] for episode in group
    ]
    (folder / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return played


def demonstrations(count: int = 5) -> list[Episode]:
    """Episodes whose replies are of few tokens, so that there is something to learn."""

    def episode(i: int) -> Episode:
        reply = [(7 * i + n) % 5 + 100 for n in range(6)]
        tokens, sampled = [*reply, *ids(4, i), *reply], [1] * 6 + [0] * 4 + [1] * 6
        return Episode(
            id=f"d{i}",
            attempt=0,
            prompt=[*ids(20), *ids(5, i)],
            tokens=tokens,
            sampled=sampled,
            logprobs=[0.0] * len(tokens),
            end=End.ANSWER,
            answer="",
            turns=2,
            prefill=0,
            cached=0,
            generated=12,
            info={},
        )

    return [episode(i) for i in range(count)]


def run_sft(folder: Path, training: Training = TRAINING, seed: int = 3, engine: LocalEngine | None = None) -> list[str]:
    """Trains, leaving curve.csv and models/ in `folder`; returns the lineage after each epoch."""
    engine = engine or tiny_engine()
    with SampleStore(folder / "samples.sqlite") as store:
        learner = Learner.new(engine, store, 4, 0)
        curve = Curve(folder / "curve.csv")
        saved = asyncio.run(train_sft(learner, demonstrations(), training, seed, curve, "sft"))
        for epoch, (lineage, paths) in enumerate(saved, 1):
            write_checkpoint(engine, Checkpoint(lineage, f"sft@{epoch}", paths), folder / "models" / str(epoch))
    return [lineage for lineage, _ in saved]


def outputs(folder: Path) -> dict[str, bytes]:
    """Every file that a run leaves."""
    paths = [folder / "curve.csv", folder / "episodes.jsonl", *(folder / "models").rglob("*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}
