from itertools import combinations

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError, SettingsError
from posttrain.stats.proportions import pass_at_k, wilson

counts = st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (10, 10), (3, 8), (257, 500), (1, 1)])
def test_wilson_agrees_with_scipy(successes: int, n: int) -> None:
    found = wilson(successes, n, confidence=0.95)
    expected = scipy.stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.mean == successes / n


def test_wilson_of_no_success_is_the_closed_form() -> None:
    z_squared = 1.959963984540054**2
    found = wilson(0, 10, confidence=0.95)
    assert found.low == 0.0
    assert found.high == pytest.approx(z_squared / (10 + z_squared))


@given(counts, st.floats(0.5, 0.999))
def test_wilson_stays_in_the_unit_interval_and_holds_the_share(count: tuple[int, int], confidence: float) -> None:
    successes, n = count
    found = wilson(successes, n, confidence=confidence)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    mirrored = wilson(n - successes, n, confidence=confidence)
    assert mirrored.low == pytest.approx(1 - found.high, abs=1e-9)


def test_pass_at_k_is_the_share_of_subsets_with_a_success() -> None:
    for n in range(1, 7):
        for successes in range(n + 1):
            for k in range(1, n + 1):
                subsets = list(combinations(range(n), k))
                expected = sum(min(subset) < successes for subset in subsets) / len(subsets)
                assert pass_at_k(n, successes, k) == pytest.approx(expected)


@given(counts)
def test_pass_at_k_rises_with_k_from_the_plain_share(count: tuple[int, int]) -> None:
    successes, n = count
    ladder = [pass_at_k(n, successes, k) for k in sorted({1, (n + 1) // 2, n})]
    assert ladder[0] == pytest.approx(successes / n)
    assert ladder == sorted(ladder)
    assert ladder[-1] == (1.0 if successes else 0.0)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes: int, n: int) -> None:
    with pytest.raises(DataError):
        wilson(successes, n, confidence=0.95)
    with pytest.raises(DataError):
        pass_at_k(n, successes, 1)


def test_impossible_k_and_confidence_are_refused() -> None:
    for k in (0, 6):
        with pytest.raises(DataError, match=f"pass@{k}"):
            pass_at_k(5, 2, k)
    with pytest.raises(SettingsError, match="confidence is 95"):
        wilson(1, 2, confidence=95)
