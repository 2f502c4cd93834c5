"""Attempts at train questions by the cold-started policy, for rejection sampling; all of them are kept."""

from pathlib import Path

from posttrain import station
from posttrain.engine.settings import EngineSettings
from posttrain.files import write_jsonl
from posttrain.paid import paid
from posttrain.progress import Progress
from posttrain.rollout.policy import Drawing
from posttrain.rollout.runner import Rollouts, Runner
from posttrain.settings import load
from posttrain.train.checkpoint import read_checkpoint
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.questions import questions
from posttrain.wiki.searching import open_search
from posttrain.wiki.session import open_session, prompt_text
from posttrain.wiki.settings import CollectSettings, RunSettings
from posttrain.wiki.tasks import research_tasks


async def main() -> None:
    settings, harness = load("collect", CollectSettings), load("harness", HarnessSettings)
    with open_session(load("engine", EngineSettings)) as session, open_search() as search:
        tasks = research_tasks(questions("train")[: settings.questions], search, prompt_text("research"), harness)
        policy = read_checkpoint(Path("models/coldstart")).policy(session.engine, session.store)
        seed = load("run", RunSettings).seed
        drawing = Drawing(harness.max_tokens, settings.temperature, seed << 20, (session.chat.end,))
        with Progress("collect", len(tasks) * settings.tries, "episode") as progress:
            rollouts = Rollouts(settings.tries, settings.concurrency, drawing)
            groups = await Runner(policy, session.chat, rollouts, progress).run(tasks)
        session.store.flush()
    write_jsonl(Path("runs/collect/episodes.jsonl"), (episode.to_row() for group in groups for episode in group))


if __name__ == "__main__":
    station.run("collect", paid(main))
