"""A short start on scripted demonstrations, so that a very small model can act at all; none hands the base model on."""

from pathlib import Path

from posttrain import station
from posttrain.engine.settings import EngineSettings, LoraSettings
from posttrain.paid import paid
from posttrain.settings import load
from posttrain.track.tracked import tracked
from posttrain.train.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from posttrain.train.curve import Curve
from posttrain.train.sft import Training, train_sft
from posttrain.wiki.demonstrations import demonstrate
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.questions import gold, questions
from posttrain.wiki.searching import open_search
from posttrain.wiki.session import Session, open_session, prompt_text
from posttrain.wiki.settings import ColdstartSettings, RunSettings
from posttrain.wiki.tasks import research_tasks


async def main() -> None:
    settings = load("coldstart", ColdstartSettings)
    with open_session(load("engine", EngineSettings)) as session, tracked("coldstart") as send:
        checkpoint = read_checkpoint(Path("models/base"))
        curve = Curve(Path("metrics/curves/coldstart.csv"), send)
        if settings.demonstrations:
            checkpoint = await train(session, checkpoint, settings, curve)
        else:
            curve.add({"step": 0, "loss": None})
        write_checkpoint(session.engine, checkpoint, Path("models/coldstart"))


async def train(session: Session, base: Checkpoint, settings: ColdstartSettings, curve: Curve) -> Checkpoint:
    seed, titles = load("run", RunSettings).seed, gold()
    rows = questions("train")[settings.offset : settings.offset + settings.demonstrations]
    with open_search() as search:
        tasks = research_tasks(rows, search, prompt_text("research"), load("harness", HarnessSettings))
        episodes = [
            await demonstrate(task, row, titles[row["id"]], session.chat) for task, row in zip(tasks, rows, strict=True)
        ]
    learner = base.learner(session.engine, session.store, load("lora", LoraSettings).rank, seed)
    training = Training(settings.epochs, settings.batch, settings.lr)
    lineage, paths = (await train_sft(learner, episodes, training, seed, curve, "coldstart"))[-1]
    return Checkpoint(lineage, f"cold start on {len(episodes)} demonstrations", paths)


if __name__ == "__main__":
    station.run("coldstart", paid(main))
