"""An environment of your own, and GRPO in it: add two numbers, with a second try after a wrong first."""

import asyncio
import random
import re
from functools import partial
from pathlib import Path

from posttrain.engine.settings import EngineSettings
from posttrain.progress import Progress
from posttrain.rollout.environment import Continue, Done
from posttrain.rollout.episode import End, Episode
from posttrain.rollout.policy import Drawing, Policy
from posttrain.rollout.runner import Rollouts, Runner, Task
from posttrain.settings import load
from posttrain.train.checkpoint import base_checkpoint
from posttrain.train.curve import Curve
from posttrain.train.grpo import Groups, Recipe, train_grpo
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.wiki.session import open_session


class Adding:
    def __init__(self, a: int, b: int) -> None:
        self.a, self.b, self.tries = a, b, 0

    def messages(self) -> tuple[str, str]:
        return "Reply with a number only.", f"What is {self.a} + {self.b}?"

    async def step(self, reply: str) -> Continue | Done:
        self.tries += 1
        if re.findall(r"\d+", reply)[-1:] == [str(self.a + self.b)]:
            return Done(End.ANSWER, reply)
        return Continue("No. Try once more.") if self.tries == 1 else Done(End.BUDGET)

    def info(self) -> dict[str, int]:
        return {"tries": self.tries}


async def main() -> None:
    how = GrpoSettings(10, 8, 6, 0, 3e-4, 1.0, 10, [], "importance_sampling", "mean", False, 48)
    with open_session(load("engine", EngineSettings)) as session:

        async def play(policy: Policy, step: int) -> Groups:
            rng, rollouts = random.Random(step), Rollouts(how.group, 48, Drawing(16, 1.0, 0, (session.chat.end,)))
            pairs = [(rng.randint(1, 20), rng.randint(1, 20)) for _ in range(how.questions)]
            tasks = [Task(f"{step}-{i}", partial(Adding, *pair)) for i, pair in enumerate(pairs)]
            return await Runner(policy, session.chat, rollouts, Progress("add", None, "episode")).run(tasks)

        def reward(episode: Episode) -> float:
            return 1 / episode.info["tries"] if episode.end is End.ANSWER else 0.0

        recipe = Recipe(play, reward, lambda episode: {"tries": episode.turns}, lambda *_: 0.0)
        learner = base_checkpoint(session.engine).learner(session.engine, session.store, 16, 0)
        await train_grpo(learner, recipe, how, Curve(Path("metrics/curves/adding.csv")))


asyncio.run(main())
