"""Supervised fine-tuning on episodes: cross-entropy on the tokens the policy sampled, and on nothing else."""

import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from math import ceil

from tinker import AdamParams

from posttrain.engine.protocol import SavedPaths
from posttrain.progress import Progress
from posttrain.rollout.episode import Episode
from posttrain.train.curve import Curve
from posttrain.train.datums import sft_datum
from posttrain.train.learner import Learner


@dataclass(frozen=True)
class Training:
    """Passes over the data, examples per step, and the learning rate of the first step."""

    epochs: int
    batch: int
    lr: float


async def train_sft(
    learner: Learner, episodes: Sequence[Episode], training: Training, seed: int, curve: Curve, label: str
) -> list[tuple[str, SavedPaths]]:
    """Trains with a learning rate that falls linearly to 0; every epoch sees the episodes in a new order.

    Returns:
        The lineage and checkpoints after each epoch.
    """
    data = [sft_datum(episode) for episode in episodes]
    order = random.Random(seed)
    total = training.epochs * ceil(len(data) / training.batch)
    step, saved = 0, []
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(learner.kept())
        progress = stack.enter_context(Progress(label, total, "step"))
        for epoch in range(1, training.epochs + 1):
            order.shuffle(data)
            for start in range(0, len(data), training.batch):
                rate = training.lr * (1 - step / total)
                batch = data[start : start + training.batch]
                metrics = await learner.update(batch, "cross_entropy", AdamParams(learning_rate=rate))
                step += 1
                curve.add({"step": step, "epoch": epoch, "lr": rate, **metrics})
                progress.advance(loss=metrics["loss"])
            saved.append((learner.lineage, await learner.save()))
    return saved
