"""The learning curve as a picture, from the committed metrics alone."""

import csv
from pathlib import Path

from posttrain import station
from posttrain.files import read_json
from posttrain.report.learning_curve import Curves, draw
from posttrain.wiki.ablation import ARMS


def main() -> None:
    metrics = Path("metrics")
    base, ablation = read_json(metrics / "base.json"), read_json(metrics / "ablation.json")
    val = [("base", base["f1"], base["f1_ci"])]
    for phase, unit in (("sft", "epoch"), ("grpo", "step")):
        chosen = read_json(metrics / f"{phase}.json")
        for number in chosen[f"f1_by_{unit}"]:
            measured = read_json(metrics / "val" / phase / f"{number}.json")
            val.append((f"{phase.upper()} {unit} {number}", measured["f1"], measured["f1_ci"]))
    with (metrics / "curves" / "grpo.csv").open(encoding="utf-8") as rows:
        reward = [float(row["reward"]) for row in csv.DictReader(rows)]
    arms = [(title, ablation["arms"][arm]["f1"], ablation["arms"][arm]["f1_ci"]) for arm, title in ARMS.items()]
    curves = Curves(val, reward, arms, base["n"], ablation["arms"]["base"]["n"])
    draw(curves, metrics / "learning_curve.png")


if __name__ == "__main__":
    station.run("report", main)
