import math

import numpy as np
import pytest
from scipy import stats

from posttrain.errors import DataError, SettingsError
from posttrain.stats.bootstrap import mean_intervals
from posttrain.stats.seeds import Resampled, _inside, _reach, resample_seeds, student_interval, welch

HOW = {"resamples": 4000, "confidence": 0.95, "seed": 0}


def test_questions_that_all_agree_leave_the_spread_of_the_seeds() -> None:
    [made] = resample_seeds([[[0.0] * 7, [0.0] * 7, [1.0] * 7]], **HOW)
    # Two of three seeds are drawn: both 0 in 4 of 9 draws, one of each in 4, both 1 in 1.
    values, counts = np.unique(made.means_B, return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert counts / 4000 == pytest.approx([4 / 9, 4 / 9, 1 / 9], abs=0.02)
    interval = made.interval(0.95)
    assert (interval.mean, interval.low, interval.high) == (pytest.approx(1 / 3), 0.0, 1.0)
    # The variance of a mean of three is (1/3) / 3, and drawing all three seeds would make it 2/27.
    assert made.means_B.var() == pytest.approx(1 / 9, abs=0.005)


def test_two_seeds_reach_from_one_to_the_other() -> None:
    [made] = resample_seeds([[[0.2, 0.2], [0.6, 0.6]]], **HOW)
    assert made.interval(0.95).low == pytest.approx(0.2)
    assert made.interval(0.95).high == pytest.approx(0.6)


def test_one_seed_is_an_interval_over_questions() -> None:
    scores = [0.0, 1.0, 1.0, 0.5, 0.0, 1.0]
    [made] = resample_seeds([[scores]], **HOW)
    [expected] = mean_intervals([scores], **HOW)
    interval = made.interval(0.95)
    assert (interval.mean, interval.low, interval.high) == pytest.approx((expected.mean, expected.low, expected.high))


def test_a_gain_on_every_question_is_paired_away() -> None:
    baseline = [0.0, 0.9, 0.3, 0.6]
    better, base = resample_seeds([[[score + 0.1 for score in baseline]] * 2, [baseline] * 3], **HOW)
    difference = better.minus(base, 0.95)
    assert (difference.estimate.low, difference.estimate.mean, difference.estimate.high) == pytest.approx((0.1,) * 3)
    assert difference.p == pytest.approx(2 / 4001)
    assert base.minus(base, 0.95).p == 1.0


def test_p_is_twice_the_share_beyond_zero() -> None:
    zero = Resampled(0.0, np.zeros(19))
    made = Resampled(0.3, np.array([-0.1, *[0.4] * 18]))
    assert made.minus(zero, 0.9).p == pytest.approx(2 * (1 + 1) / 20)


def test_equal_seeds_give_equal_results_and_order_does_not_matter_for_questions() -> None:
    scores = np.random.default_rng(3).random((2, 3, 20))
    first, again = resample_seeds(list(scores), **HOW), resample_seeds(list(scores), **HOW)
    assert all((one.means_B == two.means_B).all() for one, two in zip(first, again, strict=True))


def test_what_cannot_be_resampled() -> None:
    with pytest.raises(DataError, match="different numbers of questions"):
        resample_seeds([[[1.0, 0.0]], [[1.0]]], **HOW)
    with pytest.raises(SettingsError, match="resamples"):
        resample_seeds([[[1.0]]], resamples=3, confidence=0.95, seed=0)


def test_students_t_by_hand_and_by_scipy() -> None:
    # Mean 0.5, deviation 0.1, t(0.975, 2) = 4.30265: 0.5 ± 4.30265 × 0.1 / √3.
    found = student_interval([0.4, 0.5, 0.6], 0.95)
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, 0.251586, 0.748414), abs=1e-6)
    values = [0.31, 0.52, 0.44, 0.71]
    wide = student_interval(values, 0.9)
    assert wide is not None
    assert (wide.low, wide.high) == pytest.approx(stats.t.interval(0.9, 3, np.mean(values), stats.sem(values)))
    assert student_interval([0.4], 0.95) is None


def test_welch_against_scipy() -> None:
    one, other = [0.31, 0.52, 0.44, 0.71], [0.2, 0.25, 0.22]
    found, theirs = welch(one, other, 0.95), stats.ttest_ind(one, other, equal_var=False)
    assert found is not None
    assert found.p == pytest.approx(theirs.pvalue)
    ends = theirs.confidence_interval(0.95)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((ends.low, ends.high))
    assert welch(one, [0.2], 0.95) is None


def test_seeds_that_all_agree() -> None:
    same, apart = welch([0.5, 0.5], [0.5, 0.5], 0.95), welch([0.75, 0.75], [0.5, 0.5], 0.95)
    assert same is not None
    assert apart is not None
    assert (same.p, apart.p, apart.estimate.low, apart.estimate.high) == (1.0, 0.0, 0.25, 0.25)


@pytest.mark.parametrize("freedom", [1.0, 1.3, 2.0, 3.7, 9.0, 40.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_reach_of_students_t(freedom: float, confidence: float) -> None:
    assert _reach(confidence, freedom) == pytest.approx(stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-5)
    for x in (0.1, 1.0, 4.0, 12.0):
        expected = 1 - 2 * stats.t.sf(x, freedom)
        assert _inside(math.atan(x / math.sqrt(freedom)), freedom) == pytest.approx(expected, abs=1e-9)
