"""What the research task adds to GRPO: fresh questions per step, F1 as reward, searches and answer length to watch."""

from collections.abc import Sequence

from posttrain.errors import SettingsError
from posttrain.files import Row
from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.progress import Progress
from posttrain.rollout.episode import End, Episode
from posttrain.rollout.policy import Drawing, Policy
from posttrain.rollout.runner import Rollouts, Runner
from posttrain.train.grpo import Groups, Recipe
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.wiki.environment import HarnessSettings, SearchCorpus
from posttrain.wiki.score import f1
from posttrain.wiki.session import Session, prompt_text
from posttrain.wiki.tasks import research_tasks


def research_recipe(
    session: Session,
    search: SearchCorpus,
    train: Sequence[Row],
    settings: GrpoSettings,
    harness: HarnessSettings,
    prices: PriceSettings,
    seed: int,
) -> Recipe:
    """Step s plays the questions from `offset + (s - 1) * questions` on; none is played twice.

    Raises:
        SettingsError: there are not enough train questions for all steps.
    """
    needed = settings.offset + settings.steps * settings.questions
    if needed > len(train):
        raise SettingsError(
            f"grpo needs {needed} train questions (offset {settings.offset} + {settings.steps} steps of "
            f"{settings.questions}) and there are {len(train)}; lower grpo.steps or raise data.train"
        )
    answers = {row["id"]: row["answers"] for row in train}
    prompt = prompt_text("research")

    async def play(policy: Policy, step: int) -> Groups:
        first = settings.offset + (step - 1) * settings.questions
        tasks = research_tasks(train[first : first + settings.questions], search, prompt, harness)
        drawing = Drawing(harness.max_tokens, settings.temperature, seed << 20, (session.chat.end,))
        rollouts = Rollouts(settings.group, settings.concurrency, drawing)
        with Progress(f"grpo step {step}", len(tasks) * settings.group, "episode") as progress:
            groups = await Runner(policy, session.chat, rollouts, progress).run(tasks)
        session.store.flush()
        return groups

    def reward(episode: Episode) -> float:
        return f1(episode.answer, answers[episode.id]) if episode.end is End.ANSWER else 0.0

    def describe(episode: Episode) -> dict[str, float]:
        return {
            "searches": float(len(episode.info["queries"])),
            "answer_length": float(len(episode.answer.split())),
        }

    def usd(groups: Groups, trained_tokens: float) -> float:
        episodes = [episode for group in groups for episode in group]
        prefill = sum(episode.prefill for episode in episodes)
        sampled = sum(episode.generated for episode in episodes)
        return prices.usd(Tokens(prefill=prefill, sampled=sampled, trained=round(trained_tokens)))

    return Recipe(play, reward, describe, usd)
