"""Supervised fine-tuning on the selected attempts; a checkpoint after every epoch."""

from pathlib import Path

from posttrain import station
from posttrain.engine.settings import EngineSettings, LoraSettings
from posttrain.files import read_jsonl
from posttrain.paid import paid
from posttrain.rollout.episode import Episode
from posttrain.settings import load
from posttrain.track.tracked import tracked
from posttrain.train.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from posttrain.train.curve import Curve
from posttrain.train.sft import Training, train_sft
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.session import open_session
from posttrain.wiki.settings import RunSettings


async def main() -> None:
    settings, seed = load("sft", SftSettings), load("run", RunSettings).seed
    episodes = [Episode.from_row(row) for row in read_jsonl(Path("data/sft/episodes.jsonl"))]
    with open_session(load("engine", EngineSettings)) as session, tracked("sft") as send:
        start = read_checkpoint(Path("models/coldstart"))
        learner = start.learner(session.engine, session.store, load("lora", LoraSettings).rank, seed)
        curve = Curve(Path("metrics/curves/sft.csv"), send)
        saved = await train_sft(
            learner, episodes, Training(settings.epochs, settings.batch, settings.lr), seed, curve, "sft"
        )
        for epoch, (lineage, paths) in enumerate(saved, 1):
            checkpoint = Checkpoint(lineage, f"SFT epoch {epoch}", paths)
            write_checkpoint(session.engine, checkpoint, Path(f"models/sft/epoch-{epoch}"))


if __name__ == "__main__":
    station.run("sft", paid(main))
