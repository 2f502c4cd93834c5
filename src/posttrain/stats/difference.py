"""The difference of two shares of successes from independent samples."""

from math import hypot

from posttrain.stats.bootstrap import Estimate
from posttrain.stats.proportions import wilson


def newcombe(one: tuple[int, int], other: tuple[int, int], *, confidence: float) -> Estimate:
    """The share of `other` minus that of `one`, each given as (successes, n), with an interval.

    Newcombe 1998, "Interval estimation for the difference between independent proportions: comparison of eleven
    methods", Statistics in Medicine 17, 873-890, method 10: the distances of both shares from the ends of their Wilson
    intervals, without continuity correction, added as squares. It stays inside [-1, 1] and holds at 0 and n successes.

    Raises:
        DataError, SettingsError: see `wilson`.
    """
    first, second = wilson(*one, confidence=confidence), wilson(*other, confidence=confidence)
    difference = second.mean - first.mean
    below = hypot(second.mean - second.low, first.high - first.mean)
    above = hypot(second.high - second.mean, first.mean - first.low)
    return Estimate(difference, max(-1.0, difference - below), min(1.0, difference + above))
