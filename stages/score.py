"""Scores stored episodes; samples nothing.

usage: score.py RUN --split val|test --metrics FILE [--closed-book]
"""

import argparse
from pathlib import Path

from posttrain import station
from posttrain.ledger.price import PriceSettings
from posttrain.settings import load
from posttrain.wiki.scoring import score_run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--split", choices=["val", "test"], required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--closed-book", action="store_true")
    args = parser.parse_args()
    score_run(args.run, args.split, args.metrics, load("prices", PriceSettings), not args.closed_book)


if __name__ == "__main__":
    station.run("score", main)
