"""The untrained model: fetched or converted, its chat template proven to fit, named by its weights."""

from pathlib import Path

from posttrain import station
from posttrain.engine.settings import EngineSettings
from posttrain.settings import load
from posttrain.train.checkpoint import base_checkpoint, write_checkpoint
from posttrain.wiki.session import open_session


def main() -> None:
    with open_session(load("engine", EngineSettings)) as session:
        write_checkpoint(session.engine, base_checkpoint(session.engine), Path("models/base"))


if __name__ == "__main__":
    station.run("model", main)
