"""Samples one round through Pi: runs/sampled has its manifest, what the host saw of each rollout, and Pi's own log."""

import hashlib
from pathlib import Path

from posttrain import station
from posttrain.errors import DataError
from posttrain.euler.evaluate import evaluate, given_by, signature
from posttrain.euler.frontier import plan_round, read_frontier
from posttrain.euler.manifest import new_manifest
from posttrain.euler.policies import conditions_here, open_speaker
from posttrain.euler.problem_set import read_problem_set
from posttrain.euler.round_settings import RoundSettings
from posttrain.files import copy_folder
from posttrain.ledger.places import state_dir
from posttrain.settings import load

STATE = Path("climb/state.json")


def main() -> None:
    settings, conditions = load("round", RoundSettings), conditions_here()
    problems, frontier = read_problem_set(Path("data/problems")), read_frontier(STATE)
    if frontier.problem_set not in ("", problems.source):
        raise DataError(
            f"the climb in {STATE} is one of {frontier.problem_set}, and the problems are {problems.source}; begin "
            f"another with `echo '{{}}' > {STATE}`"
        )
    kind, plan = plan_round(frontier, settings, conditions.fanout)
    with open_speaker() as speaker:
        signed = signature(speaker, conditions)
        asked = new_manifest(
            kind, frontier.current, plan, problems, signed, conditions.fanout, conditions.gate, settings.trained_on
        )
        # Another state or scorer, another round: what was sampled before is no new evidence. Any other edit that
        # leaves the prompts as they are finds its samples in the store.
        nonce = _sha256(STATE.read_text(encoding="utf-8"), kind, plan, signed.scorer_sha256)
        folder = state_dir() / "euler" / _sha256(nonce, signed.digest)[:16]
        evaluate(folder, asked, nonce, conditions, speaker, given_by(problems))
    copy_folder(folder, Path("runs/sampled"))


def _sha256(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


if __name__ == "__main__":
    station.run("evaluate", main, "posttrain.euler.params")
