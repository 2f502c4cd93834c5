"""Arms against a baseline on the same questions: difference, interval, p, and what could have been found at all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from posttrain.errors import DataError, SettingsError
from posttrain.stats.bootstrap import (
    CHUNK_ELEMENTS,
    Array,
    Estimate,
    checked_matrix,
    mean_intervals,
)

POWER = 0.80
ALPHA = 0.05
_SIGN_STREAM = 1


@dataclass(frozen=True)
class PairedDelta:
    """One arm minus the baseline, in the unit of the scores."""

    difference: Estimate
    p: float
    """Two-sided, by sign flips; not corrected for the number of arms (see `holm`)."""
    smallest_detectable: float
    """The true difference that a study of this size and paired spread finds four times in five."""


def compare_paired(
    arms: Mapping[str, Mapping[str, float]],
    baseline: Mapping[str, float],
    *,
    resamples: int,
    confidence: float,
    seed: int,
) -> dict[str, PairedDelta]:
    """Each arm's mean paired difference to `baseline`, by the name of the arm.

    Args:
        arms: scores of each arm by question id.
        baseline: scores by question id; every arm must have the same ids.
        resamples: bootstrap resamples, and as many sign flips.
        confidence: of the intervals, such as 0.95.
        seed: equal seeds give equal results, in whatever order the ids come.

    Raises:
        DataError: ids differ, fewer than two questions, or a score is not a finite number.
        SettingsError: see `check_resampling`.
    """
    if not arms:
        return {}
    ids = sorted(baseline)
    for name, scores in arms.items():
        check_same_ids(name, scores, ids)
    baseline_N = checked_matrix([baseline[key] for key in ids])
    differences_AN = checked_matrix([[scores[key] for key in ids] for scores in arms.values()]) - baseline_N
    differences = mean_intervals(differences_AN, resamples=resamples, confidence=confidence, seed=seed)
    p_A = sign_flip_p(differences_AN, flips=resamples, seed=seed)
    return {
        name: PairedDelta(difference, p, smallest_detectable(row_N))
        for name, difference, p, row_N in zip(arms, differences, p_A, differences_AN, strict=True)
    }


def check_same_ids(name: str, ids: Iterable[str], expected: Iterable[str]) -> None:
    """Checks that an arm was scored on exactly the expected questions.

    Raises:
        DataError: it names the arm, how many ids are missing or extra, and some of them.
    """
    found, wanted = set(ids), set(expected)
    for problem, odd in (("lacks", wanted - found), ("has unshared", found - wanted)):
        if odd:
            some = ", ".join(islice(map(str, sorted(odd)), 3))
            raise DataError(
                f"arm {name} {problem} {len(odd)} of {len(wanted)} question ids ({some}); paired differences need the "
                "same questions in every arm: evaluate it on the same split"
            )


def sign_flip_p(differences: ArrayLike, *, flips: int, seed: int) -> list[float]:
    """Two-sided p of each row of paired differences (A, N) against "no difference", by random sign flips.

    Without an effect each difference is as likely with either sign (Fisher 1935, The Design of Experiments).
    The observed signs count as one of the flips, so p is valid at any number of flips and never 0 (Phipson & Smyth
    2010). The smallest p possible is 1 / (flips + 1). All-zero differences give p = 1.

    Raises:
        DataError: see `checked_matrix`.
        SettingsError: `flips` is not positive, or `seed` is negative.
    """
    if flips < 1 or seed < 0:
        raise SettingsError(f"flips is {flips} and seed {seed}; set at least 1 flip and a seed of 0 or more")
    differences_AN = checked_matrix(differences)
    arms, questions = differences_AN.shape
    sums_A1 = np.abs(differences_AN.sum(axis=1, keepdims=True))
    # Equal sums reached in another order of addition must count as equal.
    slack_A1 = 1e-12 * np.abs(differences_AN).sum(axis=1, keepdims=True)
    generator = np.random.default_rng((seed, _SIGN_STREAM))
    as_extreme_A = np.zeros(arms, dtype=np.int64)
    rows = max(1, CHUNK_ELEMENTS // questions)
    for start in range(0, flips, rows):
        size = min(rows, flips - start)
        signs_SN = generator.integers(2, size=(size, questions)) * 2.0 - 1.0
        as_extreme_A += (np.abs(differences_AN @ signs_SN.T) >= sums_A1 - slack_A1).sum(axis=1)
    return [float(count + 1) / (flips + 1) for count in as_extreme_A]


def smallest_detectable(differences: ArrayLike) -> float:
    """Smallest true mean difference that a two-sided test at 0.05 finds with 80% power, from the paired spread.

    (z(1 − α/2) + z(power)) × SD / √N, the minimum detectable effect of Bloom 1995 with the standard error of a paired
    mean (Miller 2024, "Adding Error Bars to Evals"). 0 when all differences are equal.

    Raises:
        DataError: fewer than two differences, or one is not a finite number.
    """
    row_N: Array = checked_matrix(differences).ravel()
    if row_N.size < 2:
        raise DataError("one paired difference has no spread; evaluate at least 2 questions")
    normal = NormalDist()
    reach = normal.inv_cdf(1 - ALPHA / 2) + normal.inv_cdf(POWER)
    # Shifting by one difference keeps equal differences at a spread of exactly 0.
    return reach * float(np.std(row_N - row_N[0], ddof=1)) / sqrt(row_N.size)


def holm(p_values: Sequence[float]) -> list[float]:
    """Step-down adjusted p values in the order given (Holm 1979); reject where one is at most the family's alpha.

    Raises:
        DataError: a p value is not in [0, 1].
    """
    for position, p in enumerate(p_values):
        if not 0 <= p <= 1:
            raise DataError(f"p value {position} is {p}, not between 0 and 1; compute it from the scores again")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted
