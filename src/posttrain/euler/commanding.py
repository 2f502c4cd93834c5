"""What the commands under `posttrain euler` do, beyond printing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posttrain.errors import DataError, InfrastructureError
from posttrain.euler.agent.settings import PolicySettings
from posttrain.euler.curriculum import next_problem
from posttrain.euler.curriculum_file import read_state
from posttrain.euler.frontier import read_frontier
from posttrain.euler.params import check_params
from posttrain.euler.policies import conditions_here
from posttrain.euler.problem_set import read_problem_set
from posttrain.euler.rehearse import Rehearsal, rehearse
from posttrain.euler.replay import Lookup, problem_lookup
from posttrain.euler.rounds import Round
from posttrain.euler.signature import code_sha256
from posttrain.euler.transfer.frozen import SUITE
from posttrain.euler.transfer.manifest import transfer_lookup
from posttrain.files import read_json, write_text
from posttrain.ledger.lock import stage_lock
from posttrain.ledger.places import project_root, state_dir
from posttrain.settings import load

STATE, NEXT = Path("climb/state.json"), Path("climb/next.json")


@contextmanager
def in_recipe(folder: Path) -> Iterator[None]:
    """Works in the recipe's folder, as its stages do, with its params.yaml checked as a whole.

    Raises:
        DataError: it is not there.
    """
    before, root = Path.cwd(), project_root()
    if not (root / folder / "dvc.yaml").is_file():
        raise DataError(f"{root / folder} holds no recipe; run this in the project")
    os.chdir(root / folder)
    try:
        check_params(Path("params.yaml"))
        yield
    finally:
        os.chdir(before)


def rehearsed() -> Rehearsal:
    """The rehearsal of this code; one that was cut short is gone on with."""
    conditions = conditions_here()
    code = code_sha256("posttrain.euler.rehearse")[:16]
    folder = state_dir() / f"rehearsal-{code}"
    with stage_lock(state_dir(), "rehearsal"):
        try:
            return rehearse(conditions, load("policy", PolicySettings), folder)
        except DataError:  # begun with other settings
            shutil.rmtree(folder, ignore_errors=True)
            return rehearse(conditions, load("policy", PolicySettings), folder)


def climb_round(folder: Path) -> str:
    """Samples, judges and counts one round as a DVC experiment; says how it went.

    Raises:
        DataError: the problem at the frontier cannot be asked; the message says what to supply.
        InfrastructureError: the pipeline failed; what was sampled is kept.
    """
    with in_recipe(folder):
        frontier = read_frontier(STATE)
        state = read_state(STATE) if frontier.problem_set else None
        if state is not None and Path("data/problems").exists():
            next_problem(state, read_problem_set(Path("data/problems")).problems)
        name = f"climb-{frontier.current}-{len(state.applied) if state else 0}"
        done = subprocess.run([sys.executable, "-m", "dvc", "exp", "run", "-n", name, "report"], check=False)
        if done.returncode != 0:
            raise InfrastructureError("the round was not finished; run the command again, it goes on from there")
        gate = read_json(Path("metrics/gate.json"))
        _advance()
    counts = ", ".join(f"{name} {row['qualified']}/{row['n']}" for name, row in gate["languages"].items())
    why = f" ({'; '.join(gate['reasons'])})" if gate["reasons"] else ""
    return f"problem {gate['problem']}: {gate['outcome']}, {counts}, {gate['climb']['change']}{why}"


def advance(folder: Path) -> None:
    """Makes the state after the judged round the one that the next round begins from."""
    with in_recipe(folder):
        _advance()


def state_lines(folder: Path) -> list[str]:
    """Where the climb stands, and the rounds that led there."""
    with in_recipe(folder):
        if not read_frontier(STATE).problem_set:
            return ["the climb has not begun; `posttrain euler climb` samples its first round"]
        state = read_state(STATE)
        if state is None:
            raise DataError(f"{STATE} is missing; `git checkout {STATE}` restores it")
    lines = [
        f"problems: {state.problem_set}",
        f"highest mastered: {state.highest_mastered}",
        f"current problem: {state.current}, with {len(state.passes)} consecutive passes",
    ]
    for applied in state.applied:
        unlocked = ", unlocked the next" if applied.unlocked else ""
        lines.append(f"  {applied.round[:12]}  problem {applied.problem}  {applied.outcome}{unlocked}")
    return lines


def lookup_for(finished: Round, folder: Path) -> Lookup:
    """What the rollouts of a round are judged by."""
    if finished.manifest.problem_set == SUITE:
        return transfer_lookup()
    return problem_lookup(read_problem_set(project_root() / folder / "data" / "problems"))


def _advance() -> None:
    if not NEXT.is_file():
        raise DataError(f"{NEXT} is missing: no round has been judged; run `dvc repro euler/dvc.yaml` first")
    write_text(STATE, NEXT.read_text(encoding="utf-8"))
