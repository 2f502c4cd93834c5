"""Each answer of the default is found in two ways; so are those of other seeds."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import SettingsError
from posttrain.euler.families.family import Family, drawn_terms
from posttrain.euler.generated import FAMILIES, ORDER

EACH = pytest.mark.parametrize("name", ORDER)


@EACH
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_both_solutions_agree(name: str, seed: int) -> None:
    family = FAMILIES[name]
    numbers = family.draw(seed)
    assert family.direct(**numbers) == family.better(**numbers)


SMALL: dict[str, dict[str, Sequence[int]]] = {
    "odd_cubes": {"n": range(1, 40)},
    "neither": {"n": range(1, 60), "a": range(2, 6), "b": range(3, 9)},
    "remainders": {"n": range(10, 80), "d": range(7, 9), "r": range(1, 7)},
    "alternating": {"n": range(1, 40)},
    "pair_products": {"n": range(1, 30)},
    "staircase": {"n": range(1, 12), "a": range(2, 4), "b": range(5, 7)},
    "digit_total": {"n": range(1, 1200)},
    "rising": {"n": range(1, 1500)},
    "ones": {"n": range(1, 300), "k": range(1, 8)},
    "palindromes": {"n": range(1, 500), "b": range(2, 12)},
    "cube_chain": {"n": range(3, 500)},
    "divisor_table": {"n": range(1, 60)},
    "primes_ending": {"a": range(1, 50), "b": range(50, 200), "d": (1, 3, 7, 9)},
    "squarefree": {"n": range(1, 400)},
    "most_divisors": {"n": range(1, 300)},
    "coprime_pairs": {"n": range(2, 50)},
    "prime_gap": {"n": range(6, 400)},
    "linear": {
        "a": range(9),
        "b": range(9),
        "p": range(1, 9),
        "q": range(1, 9),
        "n": range(2, 30),
        "m": range(2, 100),
    },
    "powers": {"n": range(1, 20), "m": range(2, 1000)},
    "repeating": {"n": range(2, 60), "b": range(2, 15)},
    "lattice": {"r": range(1, 20)},
    "circle": {"n": range(1, 30), "k": range(1, 9)},
    "right_triangles": {"n": range(5, 60)},
    "board": {"w": range(1, 6), "h": range(1, 6), "a": range(1, 6), "b": range(1, 6), "d": range(2, 9)},
    "dominoes": {"n": range(2, 12, 2)},
    "change": {"t": range(0, 60), "a": range(1, 4), "b": range(4, 7), "c": range(8, 10), "d": range(11, 13)},
    "subsets": {"n": range(1, 12), "m": range(2, 9)},
    "apart": {"n": range(1, 40)},
    "drops": {"n": range(2, 40), "d": range(0, 500)},
    "stretch": {"n": range(1, 40)},
    "climb": {"n": range(1, 40)},
    "crossing": {"n": range(1, 8)},
}


@EACH
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_both_solutions_agree_on_small_numbers(name: str, data: Any) -> None:
    family = FAMILIES[name]
    choices = {key: SMALL[name].get(key, choice) for key, choice in family.choices.items()}
    numbers = {key: data.draw(st.sampled_from(choice), key) for key, choice in choices.items()}
    assert family.direct(**numbers) == family.better(**numbers)


KNOWN: list[tuple[str, dict[str, int], int]] = [
    ("odd_cubes", {"n": 6}, 1 + 27 + 125),
    ("neither", {"n": 10, "a": 4, "b": 6}, 7),
    ("remainders", {"n": 20, "d": 7, "r": 3}, 3 + 10 + 17),
    ("alternating", {"n": 4}, 1 - 4 + 9 - 16),
    ("pair_products", {"n": 3}, 2 + 3 + 6),
    ("staircase", {"n": 3, "a": 2, "b": 5}, 3),
    ("digit_total", {"n": 12}, 45 + 1 + 2 + 3),
    ("rising", {"n": 14}, 9 + 3),
    ("ones", {"n": 8, "k": 2}, 3 + 5 + 6),
    ("palindromes", {"n": 10, "b": 3}, 1 + 2 + 4 + 8 + 10),
    ("cube_chain", {"n": 6}, 3 + 10),
    ("divisor_table", {"n": 4}, 1 + 3 + 4 + 7),
    ("primes_ending", {"a": 1, "b": 30, "d": 3}, 3 + 13 + 23),
    ("squarefree", {"n": 12}, 8),
    ("most_divisors", {"n": 20}, 12),
    ("coprime_pairs", {"n": 4}, 5),
    ("prime_gap", {"n": 30}, 23),
    ("linear", {"a": 1, "b": 2, "p": 3, "q": 5, "n": 3, "m": 7}, 11 % 7),
    ("powers", {"n": 3, "m": 100}, 1 + 4 + 3),
    ("repeating", {"n": 7, "b": 10}, 1 + 6),
    ("lattice", {"r": 2}, 1 + 4 + 4),
    ("circle", {"n": 5, "k": 2}, 3),
    ("right_triangles", {"n": 13}, 3),
    ("board", {"w": 2, "h": 2, "a": 1, "b": 3, "d": 7}, 1),
    ("dominoes", {"n": 2}, 3),
    ("change", {"t": 10, "a": 2, "b": 5, "c": 9, "d": 20}, 2),
    ("subsets", {"n": 3, "m": 3}, 4),
    ("apart", {"n": 6}, 3),
]
"""By hand."""


@pytest.mark.parametrize(("name", "numbers", "answer"), KNOWN)
def test_small_cases_by_hand(name: str, numbers: dict[str, int], answer: int) -> None:
    assert FAMILIES[name].direct(**numbers) == answer
    assert FAMILIES[name].better(**numbers) == answer


def test_the_list_is_the_one_that_is_described() -> None:
    assert drawn_terms(5, 3, 4, 10, 5) == [5, 9, 1, 7, 5]


@EACH
def test_files_and_wording_belong_together(name: str) -> None:
    family = FAMILIES[name]
    numbers = family.draw(0)
    assert set(re.findall(r"\w+\.txt", family.wording)) == set(family.files(**numbers))


def test_the_files_hold_what_the_solutions_work_on() -> None:
    drops, numbers = FAMILIES["drops"], FAMILIES["drops"].draw(0)
    readings = [int(line) for line in drops.files(**numbers)["readings.txt"].split()]
    assert len(readings) == numbers["n"]
    found = sum(a - b > numbers["d"] for place, b in enumerate(readings) for a in readings[:place])
    assert found == drops.better(**numbers)
    crossing, numbers = FAMILIES["crossing"], FAMILIES["crossing"].draw(0)
    rows = [[int(cost) for cost in line.split()] for line in crossing.files(**numbers)["costs.txt"].splitlines()]
    assert {len(rows), *map(len, rows)} == {numbers["n"]}
    ways = rows[0]
    for row in rows[1:]:
        ways = [cost + min(ways[max(0, x - 1) : x + 2]) for x, cost in enumerate(row)]
    assert min(ways) == crossing.better(**numbers)


def test_numbers_that_never_fit_are_told() -> None:
    family = Family("none", "{n}", {"n": (1,)}, lambda n: n, lambda n: n, fits=lambda **_: False)
    with pytest.raises(SettingsError, match="another seed"):
        family.draw(3)
