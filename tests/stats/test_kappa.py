from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.stats.kappa import cohen_kappa

raters = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40)


def times(count: int, one: str, two: str) -> list[tuple[str, str]]:
    return [(one, two)] * count


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        # Observed 35/50, expected (25 × 30 + 25 × 20) / 50² = 1/2.
        (times(20, "yes", "yes") + times(5, "yes", "no") + times(10, "no", "yes") + times(15, "no", "no"), 0.4),
        # Observed 3/6, expected (3 × 2 + 2 × 3 + 1 × 1) / 36 = 13/36.
        (times(2, "a", "a") + times(1, "a", "b") + times(1, "b", "b") + times(1, "b", "c") + [("c", "b")], 5 / 23),
        (times(3, "a", "a") + times(4, "b", "b"), 1.0),
        (times(3, "a", "b") + times(3, "b", "a"), -1.0),
        # One rater is constant, or both are with different labels: what chance gives.
        (times(3, "a", "a") + times(4, "a", "b"), 0.0),
        (times(3, "a", "b"), 0.0),
    ],
)
def test_values_by_hand(pairs: list[tuple[str, str]], kappa: float) -> None:
    assert cohen_kappa(pairs) == pytest.approx(kappa)


@pytest.mark.parametrize("pairs", [[], [("a", "a")], [("a", "a")] * 9])
def test_undefined_without_items_or_variation(pairs: list[tuple[str, str]]) -> None:
    assert cohen_kappa(pairs) is None


@given(raters)
def test_symmetric_blind_to_names_and_at_most_1(pairs: list[tuple[str, str]]) -> None:
    kappa = cohen_kappa(pairs)
    assert cohen_kappa([(two, one) for one, two in pairs]) == kappa
    assert cohen_kappa([(ord(one), ord(two)) for one, two in pairs]) == kappa
    agree = all(one == two for one, two in pairs)
    if kappa is None:
        assert len(set(pairs)) == 1
        assert agree
    else:
        assert -1 <= kappa <= 1
        assert (kappa == 1) == agree


@given(raters)
def test_independent_raters_agree_by_chance_alone(pairs: list[tuple[str, str]]) -> None:
    """Every label of one beside every label of the other is independence, exactly."""
    ones, twos = zip(*pairs, strict=True)
    assert cohen_kappa(product(ones, twos)) in (0.0, None)
