"""The problems, with their answers, from the source that is set: data/problems, which no agent ever sees."""

from pathlib import Path

from posttrain import station
from posttrain.euler.prepare import prepare
from posttrain.euler.settings import ProblemSettings
from posttrain.files import write_json
from posttrain.settings import load


def main() -> None:
    manifest = prepare(load("problems", ProblemSettings), Path("data/problems"))
    kept = ("source", "licence", "commercial_use", "counts", "missing_resources")
    write_json(Path("metrics/prepare.json"), {key: manifest[key] for key in kept})


if __name__ == "__main__":
    station.run("prepare", main, "posttrain.euler.params")
