"""GRPO: try each question several times, score the tries, reinforce those above their group's mean.

Departs from Shao et al. 2024 as the recipe asks: advantages are not divided by the group's deviation unless asked,
there is no KL term, and the loss is importance sampling summed over the sampled tokens, with one update per batch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import fmean

from tinker import AdamParams

from posttrain.engine.protocol import SavedPaths
from posttrain.progress import Progress
from posttrain.rollout.episode import End, Episode
from posttrain.rollout.policy import Policy
from posttrain.train.advantages import advantages
from posttrain.train.alarms import alarms
from posttrain.train.curve import Curve
from posttrain.train.datums import rl_datum
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.learner import Learner

Groups = Sequence[Sequence[Episode]]


@dataclass(frozen=True)
class Recipe:
    """What a recipe adds to the loop.

    play: rolls out the questions of a step (counted from 1) with a policy, one group per question.
    reward: of one episode.
    describe: further numbers of one episode to log as means.
    usd: what a step's episodes and training tokens cost.
    """

    play: Callable[[Policy, int], Awaitable[Groups]]
    reward: Callable[[Episode], float]
    describe: Callable[[Episode], dict[str, float]]
    usd: Callable[[Groups, float], float]


async def train_grpo(
    learner: Learner, recipe: Recipe, settings: GrpoSettings, curve: Curve
) -> dict[int, tuple[str, SavedPaths]]:
    """Runs all steps.

    Returns:
        Lineage and checkpoints by saved step.
    """
    saved: dict[int, tuple[str, SavedPaths]] = {}
    spent = 0.0
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(learner.kept())
        progress = stack.enter_context(Progress("grpo", settings.steps, "step"))
        upcoming = await _start(learner, recipe, 1, settings.overlap)
        for step in range(1, settings.steps + 1):
            groups = await upcoming
            if settings.overlap and step < settings.steps:
                upcoming = await _start(learner, recipe, step + 1, True)
            row, metrics = await _learn(learner, recipe, settings, groups)
            spent += recipe.usd(groups, metrics.get("tokens", 0.0))
            curve.add({"step": step, **row, **_gaps(metrics), "usd": spent})
            for alarm in alarms(curve.rows):
                if alarm.step == step:
                    progress.note(f"alarm at step {step}: {alarm.message}")
            if step in settings.saved_steps():
                saved[step] = (learner.lineage, await learner.save())
            if not settings.overlap and step < settings.steps:
                upcoming = await _start(learner, recipe, step + 1, False)
            progress.advance(reward=row["reward"])
    return saved


async def _start(learner: Learner, recipe: Recipe, step: int, ahead: bool) -> "asyncio.Task[Groups]":
    """Begins a step's episodes with the policy as it is now; `ahead` fetches its weights before they move on."""
    policy = learner.policy()
    if ahead:
        await policy.open()
    return asyncio.ensure_future(recipe.play(policy, step))


async def _learn(
    learner: Learner, recipe: Recipe, settings: GrpoSettings, groups: Groups
) -> tuple[dict[str, float], dict[str, float]]:
    """One update on the groups whose rewards differ; returns the log row and the update's metrics."""
    rewards = [[recipe.reward(episode) for episode in group] for group in groups]
    data, skipped = [], 0
    for group, group_rewards in zip(groups, rewards, strict=True):
        values = advantages(group_rewards, settings.advantages)
        if values is None:
            skipped += 1
            continue
        data += [rl_datum(episode, value) for episode, value in zip(group, values, strict=True)]
    metrics = await learner.update(data, settings.loss, AdamParams(learning_rate=settings.lr)) if data else {}
    episodes = [episode for group in groups for episode in group]
    described = [recipe.describe(episode) for episode in episodes]
    row = {
        "reward": fmean(reward for group in rewards for reward in group),
        "skipped_groups": skipped / len(groups),
        "answered": fmean(episode.end is End.ANSWER for episode in episodes),
        "budget_hit": fmean(episode.end in (End.BUDGET, End.LENGTH) for episode in episodes),
        "tokens": fmean(len(episode.tokens) for episode in episodes),
        **{key: fmean(each[key] for each in described) for key in described[0]},
    }
    return row, metrics


def _gaps(metrics: dict[str, float]) -> dict[str, float | None]:
    """The update's gap between sampler and trainer; empty when every group was skipped."""
    return {key: metrics.get(key) for key in ("logprob_gap_mean", "logprob_gap_tail")}
