import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.euler.reply import boxed, states, without_commas


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The answer is 233168.", "233168"),
        ("The answer is 233,168!", "233168"),
        ("**233168**", "233168"),
        ("$233{,}168$", "233168"),
        (r"\boxed{233168}", "233168"),
        ("12,34,567 rupees", "1234567"),
        ("x=-5", "-5"),
        ("it is −5", "-5"),
        ("about 0.464399, or so", "0.464399"),
        ("1,13717420,8", "1,13717420,8"),
        ("code CAGB", "CAGB"),
        ("7, 8 and 9", "7"),
        ("123/59", "123/59"),
    ],
)
def test_stated(reply: str, expected: str) -> None:
    assert states(reply, expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("", "5"),
        ("15", "5"),
        ("51", "5"),
        ("5.5", "5"),
        ("1.5", "5"),
        ("-5", "5"),
        ("x5", "5"),
        ("5th", "5"),
        ("1,234", "234"),
        ("1, 2, 3", "123"),
        ("1,2,3", "123"),
        ("233168.0", "233168"),
        ("233 168", "233168"),
        ("cagb", "CAGB"),
    ],
)
def test_not_stated(reply: str, expected: str) -> None:
    assert not states(reply, expected)


def test_boxed() -> None:
    assert boxed(r"\boxed{1} then \boxed{233{,}168}", "233168")
    assert not boxed(r"\boxed{233168} then \boxed{1}", "233168")
    assert not boxed("233168", "233168")


@settings(max_examples=60, deadline=None)
@given(st.integers(-(10**18), 10**18), st.sampled_from(["The answer is {}.", "{}", "so **{}**, as computed", "({})"]))
def test_a_number_is_found_in_every_spelling(number: int, sentence: str) -> None:
    for spelling in (str(number), f"{number:,}"):
        assert states(sentence.format(spelling), str(number))
    assert without_commas(f"{number:,}") == str(number)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_another_number_is_not_found(number: int, other: int) -> None:
    assert states(f"It is {other:,}.", str(number)) == (number == other)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=50), st.text(min_size=1, max_size=8))
def test_any_text_can_be_searched(reply: str, expected: str) -> None:
    states(reply, expected)
    boxed(reply, expected)
