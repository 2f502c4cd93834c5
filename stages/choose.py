"""The best checkpoint on val goes on.

usage: choose.py sft|grpo
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from posttrain import station
from posttrain.files import read_json, write_json
from posttrain.settings import load
from posttrain.wiki.choose import UNITS, choose, put_best


@dataclass(frozen=True)
class Candidates:
    """The epochs or steps that were measured on val."""

    evaluate: list[int]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=["sft", "grpo"])
    phase = parser.parse_args().phase
    candidates = load(phase, Candidates, partial=True).evaluate
    unit = UNITS[phase]
    measured = {number: read_json(Path(f"metrics/val/{phase}/{number}.json")) for number in candidates}
    best = choose(measured)
    put_best(phase, best)
    by_number = {str(number): metrics["f1"] for number, metrics in measured.items()}
    write_json(Path(f"metrics/{phase}.json"), {f"chosen_{unit}": best, f"f1_by_{unit}": by_number, **measured[best]})


if __name__ == "__main__":
    station.run("choose", main)
