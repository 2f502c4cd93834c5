"""Where a climb stands, as far as the next round must know it; `curriculum_file` reads and checks all of its state."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import DataError
from posttrain.euler.manifest import RoundKind
from posttrain.euler.plan import canonical_plan, explore_plan, probe_plan
from posttrain.euler.planned import Planned
from posttrain.euler.round_settings import RoundSettings
from posttrain.euler.settings import FanoutSettings
from posttrain.files import read_json


@dataclass(frozen=True)
class Frontier:
    """problem_set: the source of the climb's problems, "" before its first round. mastered: problems behind it."""

    problem_set: str
    current: int
    mastered: tuple[int, ...]


def read_frontier(path: Path) -> Frontier:
    """The frontier in a state file; a file with `{}` is a climb that has not begun.

    Raises:
        DataError: the file is missing or no state.
    """
    state = read_json(path)
    if state == {}:
        return Frontier("", 1, ())
    try:
        mastered = tuple(int(each["problem"]) for each in state["mastered"])
        return Frontier(str(state["problem_set"]), int(state["current"]), mastered)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} is no climb's state ({error!r}); `git checkout {path}` restores it") from error


def plan_round(
    frontier: Frontier, settings: RoundSettings, fanout: FanoutSettings
) -> tuple[RoundKind, Sequence[Planned]]:
    """What sort of round is next, and its rollouts."""
    kind = RoundKind(settings.mode, "live")
    if settings.mode == "explore":
        return kind, explore_plan(frontier.current, fanout)
    if settings.mode == "probe":
        return kind, probe_plan(settings.probe, "future", fanout)
    return kind, canonical_plan(frontier.current, frontier.mastered, fanout)
