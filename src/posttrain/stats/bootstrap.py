"""Percentile bootstrap intervals of means, for all arms of a comparison from one set of resamples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posttrain.errors import DataError
from posttrain.stats.resampling import check_resampling

Array = NDArray[np.float64]

CHUNK_ELEMENTS = 1 << 15
"""Resampled values held at a time: 256 KiB stay in cache, whatever the number of resamples, and the products are too
small for BLAS to start threads, which cost more than they save here."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval, in the unit of the data."""

    mean: float
    low: float
    high: float


def checked_matrix(values: ArrayLike) -> Array:
    """`values` as a float matrix (A, N): A arms by the N questions they share; one arm may be passed flat.

    Raises:
        DataError: no arm, no question, arms of different length, or a value that is not a finite number.
    """
    try:
        values_AN = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (ValueError, TypeError) as error:
        raise DataError(f"scores must be numbers, as many for every arm: {error}; evaluate the arms again") from error
    if values_AN.ndim != 2 or values_AN.size == 0:
        raise DataError(f"no scores to average: shape {values_AN.shape}, needed (arms, questions); evaluate first")
    if not np.isfinite(values_AN).all():
        arm, question = np.argwhere(~np.isfinite(values_AN))[0]
        found = values_AN[arm, question]
        raise DataError(f"score {question} of arm {arm} is {found}, not a finite number; score the episodes again")
    return values_AN


def mean_intervals(values: ArrayLike, *, resamples: int, confidence: float, seed: int) -> list[Estimate]:
    """Percentile bootstrap interval of each arm's mean (Efron & Tibshirani 1993, chapter 13).

    Questions are resampled, the same ones for every arm. With the same seed and number of questions, a later call
    draws the same resamples, so intervals of differences belong to those of the arms.

    Args:
        values: scores (A, N), or (N,) for one arm.
        resamples: B; time grows with B × N, memory only with B × A.
        confidence: share of resampled means inside the interval, such as 0.95.
        seed: equal seeds give equal intervals.

    Raises:
        DataError: see `checked_matrix`.
        SettingsError: see `check_resampling`.
    """
    check_resampling(resamples, confidence, seed)
    values_AN = checked_matrix(values)
    # Deviations from an arm's first value make constant arms exact: their interval is the constant, with no rounding.
    origin_A1 = values_AN[:, :1]
    deviations_AN = values_AN - origin_A1
    means_AB = origin_A1 + resampled_means(deviations_AN, resamples, seed)
    tail = (1 - confidence) / 2
    low_A, high_A = np.quantile(means_AB, (tail, 1 - tail), axis=1)
    mean_A = origin_A1[:, 0] + deviations_AN.mean(axis=1)
    return [Estimate(*map(float, bounds)) for bounds in zip(mean_A, low_A, high_A, strict=True)]


def resampled_means(values_AN: Array, resamples: int, seed: int) -> Array:
    """Means (A, B) of B resamples of the N questions, drawn with replacement and shared by the arms.

    How often each question is in a resample is a multinomial count vector, and all means are one matrix product with
    the counts. Tallying N uniform draws gives the counts several times faster than `Generator.multinomial`, which
    draws a binomial for each question.
    """
    questions = values_AN.shape[1]
    generator = np.random.default_rng(seed)
    means_AB = np.empty((values_AN.shape[0], resamples))
    rows = max(1, CHUNK_ELEMENTS // questions)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn_SN = generator.integers(questions, size=(size, questions))
        drawn_SN += np.arange(0, size * questions, questions)[:, None]
        counts_SN = np.bincount(drawn_SN.ravel(), minlength=size * questions).reshape(size, questions)
        means_AB[:, start : start + size] = values_AN @ counts_SN.T.astype(np.float64)
    means_AB /= questions
    return means_AB
