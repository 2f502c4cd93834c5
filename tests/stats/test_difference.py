import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.stats.difference import newcombe
from posttrain.stats.proportions import wilson

Count = tuple[int, int]
COUNTS = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [((48, 80), (56, 70), 0.0524, 0.3339), ((3, 10), (9, 10), 0.1705, 0.8090), ((0, 20), (10, 10), 0.6791, 1.0)],
)
def test_the_intervals_of_newcombes_table_two(one: Count, other: Count, low: float, high: float) -> None:
    found = newcombe(one, other, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@given(COUNTS, COUNTS, st.floats(0.5, 0.999))
def test_it_holds_the_difference_and_turns_around_with_the_sides(one: Count, other: Count, confidence: float) -> None:
    found, turned = newcombe(one, other, confidence=confidence), newcombe(other, one, confidence=confidence)
    assert -1 <= found.low <= found.mean <= found.high <= 1
    assert (found.low, found.mean, found.high) == pytest.approx((-turned.high, -turned.mean, -turned.low))


@given(COUNTS)
def test_against_a_sample_without_end_it_is_wilsons(count: Count) -> None:
    found, alone = newcombe((0, 10**12), count, confidence=0.95), wilson(*count, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-5)


def test_no_attempts_have_no_difference() -> None:
    with pytest.raises(DataError, match="n = 0"):
        newcombe((0, 0), (1, 2), confidence=0.95)
