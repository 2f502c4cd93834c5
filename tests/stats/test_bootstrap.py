import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError, SettingsError
from posttrain.stats import bootstrap
from posttrain.stats.bootstrap import Estimate, mean_intervals

USUAL: dict[str, Any] = {"resamples": 1_000, "confidence": 0.95, "seed": 0}


def test_agrees_with_scipy_on_several_arms_at_once() -> None:
    generator = np.random.default_rng(1)
    values_AN = np.vstack([generator.random(80), generator.exponential(1.0, 80), generator.integers(2, size=80)])
    found = mean_intervals(values_AN, resamples=20_000, confidence=0.9, seed=2)
    for estimate, values in zip(found, values_AN, strict=True):
        expected = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, confidence_level=0.9, method="percentile", rng=generator
        )
        tolerance = 0.05 * expected.standard_error
        assert estimate.mean == pytest.approx(values.mean())
        assert estimate.low == pytest.approx(expected.confidence_interval.low, abs=tolerance)
        assert estimate.high == pytest.approx(expected.confidence_interval.high, abs=tolerance)


def test_resampled_means_follow_the_known_distribution_of_two_values() -> None:
    means = bootstrap.resampled_means(np.array([[0.0, 1.0]]), 40_000, 0)[0]
    values, counts = np.unique(means, return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert counts / 40_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_seed_decides_and_arms_share_resamples() -> None:
    values_AN = np.random.default_rng(3).random((2, 50))
    assert mean_intervals(values_AN, **USUAL) == mean_intervals(values_AN, **USUAL)
    assert mean_intervals(values_AN, **USUAL) != mean_intervals(values_AN, **(USUAL | {"seed": 1}))
    means_AB = bootstrap.resampled_means(values_AN, 200, 5)
    difference_B = bootstrap.resampled_means(values_AN[1:] - values_AN[:1], 200, 5)[0]
    assert means_AB[1] - means_AB[0] == pytest.approx(difference_B)


@pytest.mark.parametrize("elements", [1, 700, 1 << 20])
def test_the_size_of_chunks_changes_nothing(elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values_AN = np.random.default_rng(4).random((3, 37))
    expected = bootstrap.resampled_means(values_AN, 501, 9)
    monkeypatch.setattr(bootstrap, "CHUNK_ELEMENTS", elements)
    assert bootstrap.resampled_means(values_AN, 501, 9) == pytest.approx(expected, rel=1e-12)


def test_memory_stays_small_at_ten_thousand_resamples() -> None:
    values_AN = np.random.default_rng(5).random((11, 500))
    tracemalloc.start()
    mean_intervals(values_AN, resamples=10_000, confidence=0.95, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_intervals_cover_the_true_mean_about_as_often_as_they_say() -> None:
    studies_AN = np.random.default_rng(6).normal(0.3, 1.0, (400, 60))
    found = mean_intervals(studies_AN, resamples=400, confidence=0.9, seed=7)
    covered = sum(estimate.low <= 0.3 <= estimate.high for estimate in found) / len(found)
    assert 0.85 <= covered <= 0.94


@given(st.floats(-1e6, 1e6), st.integers(1, 60))
@settings(deadline=None)
def test_a_constant_arm_has_its_constant_as_interval(value: float, n: int) -> None:
    assert mean_intervals([value] * n, **USUAL) == [Estimate(value, value, value)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
@settings(deadline=None, max_examples=40)
def test_ends_are_in_order_and_inside_the_data(values: list[float]) -> None:
    (estimate,) = mean_intervals(values, **USUAL)
    assert min(values) - 1e-9 <= estimate.low <= estimate.high <= max(values) + 1e-9


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "no scores"),
        ([[], []], "no scores"),
        ([[0.5, float("nan")]], "score 1 of arm 0 is nan"),
        ([[0.5, 0.5], [float("inf"), 0.1]], "score 0 of arm 1 is inf"),
        ([[0.5, 0.5], [0.1]], "as many for every arm"),
        (["half"], "must be numbers"),
        (np.zeros((2, 2, 2)), "no scores|shape"),
    ],
)
def test_bad_data_is_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        mean_intervals(values, **USUAL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resamples": 39}, "must be at least 40"),
        ({"resamples": -5}, "resamples: must .*, is -5"),
        ({"confidence": 0.0}, "confidence: must .*, is 0.0"),
        ({"confidence": float("nan")}, "confidence: must .*, is nan"),
        ({"seed": -1}, "seed: must .*, is -1"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        mean_intervals([0.1, 0.2], **(USUAL | change))


def test_the_least_number_of_resamples_is_accepted() -> None:
    assert len(mean_intervals([0.1, 0.2], resamples=40, confidence=0.95, seed=0)) == 1
