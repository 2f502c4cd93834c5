"""GRPO from the chosen SFT checkpoint, on train questions that no earlier station used."""

from pathlib import Path

from posttrain import station
from posttrain.engine.settings import EngineSettings, LoraSettings
from posttrain.files import write_json
from posttrain.ledger.price import PriceSettings
from posttrain.paid import paid
from posttrain.settings import load
from posttrain.track.tracked import tracked
from posttrain.train.alarms import alarms
from posttrain.train.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from posttrain.train.curve import Curve
from posttrain.train.grpo import train_grpo
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.questions import questions
from posttrain.wiki.reinforce import research_recipe
from posttrain.wiki.searching import open_search
from posttrain.wiki.session import open_session
from posttrain.wiki.settings import RunSettings


async def main() -> None:
    settings, seed = load("grpo", GrpoSettings), load("run", RunSettings).seed
    harness, prices = load("harness", HarnessSettings), load("prices", PriceSettings)
    with open_session(load("engine", EngineSettings)) as session, open_search() as search, tracked("grpo") as send:
        recipe = research_recipe(session, search, questions("train"), settings, harness, prices, seed)
        start = read_checkpoint(Path("models/sft_best"))
        learner = start.learner(session.engine, session.store, load("lora", LoraSettings).rank, seed)
        curve = Curve(Path("metrics/curves/grpo.csv"), send)
        saved = await train_grpo(learner, recipe, settings, curve)
        for step, (lineage, paths) in saved.items():
            checkpoint = Checkpoint(lineage, f"GRPO step {step}", paths)
            write_checkpoint(session.engine, checkpoint, Path(f"models/grpo/step-{step}"))
    fired = [f"step {alarm.step}: {alarm.message}" for alarm in alarms(curve.rows)]
    write_json(Path("metrics/grpo_train.json"), {**curve.rows[-1], "alarms": fired})


if __name__ == "__main__":
    station.run("grpo", paid(main))
