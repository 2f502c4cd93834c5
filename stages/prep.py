"""Questions and corpus from their source to data/prep."""

from pathlib import Path

from posttrain import station
from posttrain.files import write_json
from posttrain.settings import load
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.prep import prepare


def main() -> None:
    metrics = prepare(load("data", DataSettings), Path("data/prep"))
    write_json(Path("metrics/prep.json"), metrics)


if __name__ == "__main__":
    station.run("prep", main)
