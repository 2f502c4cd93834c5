"""Scores a sampled round; samples nothing. runs/scored is the round with a row for each rollout.

With another scorer than the one that the round was sampled under it is a replay, which unlocks nothing.
"""

from pathlib import Path

from posttrain import station
from posttrain.euler.problem_set import read_problem_set
from posttrain.euler.scoring import score_round


def main() -> None:
    score_round(Path("runs/sampled"), read_problem_set(Path("data/problems")), Path("runs/scored"))


if __name__ == "__main__":
    station.run("score", main, "posttrain.euler.params")
