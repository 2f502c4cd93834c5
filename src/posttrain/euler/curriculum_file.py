"""The climb's state on disk: one file, replaced as a whole, by one process at a time."""

from dataclasses import asdict
from pathlib import Path

from posttrain.errors import DataError
from posttrain.euler.curriculum import VERSION, Change, State, apply, begin
from posttrain.euler.gate import Verdict, judge
from posttrain.euler.round_receipt import read_round
from posttrain.euler.typed import build
from posttrain.files import read_json, write_json
from posttrain.ledger.lock import stage_lock

_RESTORE = "restore it from a copy, or delete it to begin at problem 1"


def apply_round(path: Path, folder: Path) -> tuple[State, Change, Verdict]:
    """Judges the round in `folder` and writes what it does to the state at `path`, which is begun if there is none.

    Raises:
        BusyError: another process is at it.
        DataError: the state or the round is damaged, or they do not fit together; the state is then as it was.
        StoreError: the state cannot be written.
    """
    with stage_lock(path.parent, path.name):
        _remove_leftovers(path)
        finished = read_round(folder)
        verdict = judge(finished)
        state = read_state(path) or begin(finished.manifest.problem_set)
        after, change = apply(state, finished, verdict)
        if after != state:
            write_json(path, asdict(after))
        return after, change, verdict


def read_state(path: Path) -> State | None:
    """The state; None if the climb has not begun.

    Raises:
        DataError: it is malformed, or contradicts itself.
    """
    if not path.exists():
        return None
    state = build(State, read_json(path), str(path))
    if state.version != VERSION:
        raise DataError(f"{path} has version {state.version}, and {VERSION} is read here; {_RESTORE}")
    problems = [each.problem for each in state.mastered]
    unlocks = [each.problem for each in state.applied if each.unlocked]
    rounds = [each.round for each in state.applied]
    if not (
        state.current == state.highest_mastered + 1
        and problems == unlocks == list(range(1, state.current))
        and (state.condition is None) == (not state.passes)
        and len(set(rounds)) == len(rounds)
        and set(state.passes) <= set(rounds)
    ):
        raise DataError(f"{path} contradicts itself; {_RESTORE}")
    return state


def _remove_leftovers(path: Path) -> None:
    """Temporary files of writes that were killed; under the lock nobody else can be writing one."""
    for left in path.parent.glob(f".{path.name}.*"):
        left.unlink(missing_ok=True)
