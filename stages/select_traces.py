"""Keeps the shortest good attempt per question; samples nothing."""

import sys
from pathlib import Path

from posttrain import station
from posttrain.errors import DataError
from posttrain.files import read_jsonl, write_json, write_jsonl
from posttrain.ledger.price import PriceSettings
from posttrain.settings import load
from posttrain.wiki.questions import questions
from posttrain.wiki.select import select
from posttrain.wiki.settings import SelectSettings


def main() -> None:
    answers = {row["id"]: row["answers"] for row in questions("train")}
    episodes = list(read_jsonl(Path("runs/collect/episodes.jsonl")))
    kept, metrics = select(episodes, answers, load("select", SelectSettings), load("prices", PriceSettings))
    if not kept:
        raise DataError("no attempt is good enough to learn from; raise collect.tries or coldstart.demonstrations")
    if metrics["advice"]:
        print(f"select_traces: {metrics['advice']}", file=sys.stderr)
    write_jsonl(Path("data/sft/episodes.jsonl"), kept)
    write_json(Path("metrics/select.json"), metrics)


if __name__ == "__main__":
    station.run("select_traces", main)
