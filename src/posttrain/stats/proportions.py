"""Shares of successes: an interval that holds at 0 and 1, and pass@k."""

from math import comb, sqrt
from statistics import NormalDist

from posttrain.errors import DataError, SettingsError
from posttrain.stats.bootstrap import Estimate


def wilson(successes: int, n: int, *, confidence: float) -> Estimate:
    """Score interval of a proportion (Wilson 1927); `mean` is the plain share, always inside the interval.

    Raises:
        DataError: n is not positive, or `successes` not in [0, n].
        SettingsError: `confidence` is not between 0 and 1.
    """
    _check_counts(successes, n)
    if not 0 < confidence < 1:
        raise SettingsError(f"confidence is {confidence}; set it between 0 and 1, such as 0.95")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / n
    widening = z * z / n
    centre = (share + widening / 2) / (1 + widening)
    half = z * sqrt(share * (1 - share) / n + widening / (4 * n)) / (1 + widening)
    # At 0 and n successes an end equals the share; rounding must not put it a hair inside, nor outside [0, 1].
    return Estimate(share, max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def pass_at_k(n: int, successes: int, k: int) -> float:
    """Unbiased estimate of P(at least one of k attempts succeeds) from n attempts (Chen et al. 2021, equation 1).

    1 − C(n − c, k) / C(n, k) in exact integers, so no product of many small factors is needed.

    Raises:
        DataError: n is not positive, `successes` not in [0, n], or k not in [1, n].
    """
    _check_counts(successes, n)
    if not 1 <= k <= n:
        raise DataError(f"pass@{k} cannot be estimated from {n} attempts; sample more, or take k from 1 to {n}")
    return 1 - comb(n - successes, k) / comb(n, k)


def _check_counts(successes: int, n: int) -> None:
    if n < 1:
        raise DataError(f"no attempts to take a share of: n = {n}; evaluate first")
    if not 0 <= successes <= n:
        raise DataError(f"{successes} successes of {n} attempts is impossible; score the episodes again")
