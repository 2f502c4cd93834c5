"""Which rollouts a round consists of."""

from collections.abc import Sequence

from posttrain.euler.planned import CANONICAL, Planned, Role
from posttrain.euler.settings import FanoutSettings


def canonical_plan(current: int, mastered: Sequence[int], fanout: FanoutSettings) -> list[Planned]:
    """The current problem with the neutral prompt, then the last mastered ones for regression."""
    plan = _fan_out([current], fanout.languages, [CANONICAL], fanout.rollouts, "current")
    window = regression_window(mastered, fanout)
    return plan + _fan_out(window, fanout.languages, [CANONICAL], fanout.regression_rollouts, "regression")


def explore_plan(current: int, fanout: FanoutSettings) -> list[Planned]:
    """The current problem, once for each strategy; it can unlock nothing."""
    return _fan_out([current], fanout.languages, fanout.strategies, fanout.rollouts, "current")


def probe_plan(problems: Sequence[int], role: Role, fanout: FanoutSettings) -> list[Planned]:
    """Problems beyond the frontier, variants or transfer tasks, with the neutral prompt, to see what carries over."""
    return _fan_out(problems, fanout.languages, [CANONICAL], fanout.rollouts, role)


def regression_window(mastered: Sequence[int], fanout: FanoutSettings) -> list[int]:
    """The mastered problems that are sampled again."""
    return list(mastered)[-fanout.regression_problems :] if fanout.regression_problems else []


def _fan_out(
    problems: Sequence[int], languages: Sequence[str], strategies: Sequence[str], rollouts: int, role: Role
) -> list[Planned]:
    return [
        Planned(problem, name, strategy, role, index)
        for problem in problems
        for name in languages
        for strategy in strategies
        for index in range(rollouts)
    ]
