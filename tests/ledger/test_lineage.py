import re
import struct
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.ledger.lineage import adapted, base_lineage, digest_datum, updated

D1, D2 = digest_datum([1], {}), digest_datum([2], {})


def test_lineages_are_32_hex_digits_and_stay_the_same_across_versions() -> None:
    name = adapted(base_lineage("local", "smol", "f"), 8, 1, {"targets": "all"})
    assert re.fullmatch("[0-9a-f]{32}", name)
    # Stored samples are found by these names: changing how they are made throws the user's samples away.
    assert base_lineage("local", "smol", "f") == "399cdad4aaf600fea7036c3469d93296"
    assert name == "bade3d1bedb0d5b395606ba9a8a44f8a"
    assert updated(name, [D1, D2], "ppo", {"clip": 0.2}, {"lr": 1e-5}) == "6e72371ca4acb33a3e06fc6a8155d302"
    assert (
        digest_datum([1, 2], {"weights": [0.0, 1.0], "targets": [2, 3]}).hex()
        == "1e6a992492342056a68fc773401a4bc420e04625935fd534e0dfdf6550ee5662"
    )


def test_every_argument_counts() -> None:
    names = [
        base_lineage("local", "a", "b"),
        base_lineage("tinker", "a", "b"),
        base_lineage("local", "b", "a"),
        base_lineage("local", "ab", ""),
        base_lineage("local", "", "ab"),
        adapted("p", 8, 1, {}),
        adapted("q", 8, 1, {}),
        adapted("p", 1, 8, {}),
        adapted("p", 8, 2, {}),
        adapted("p", 8, 1, {"targets": "mlp"}),
        adapted("p", 8, 1, {"targets": "attention"}),
        updated("p", [D1, D2], "ppo", {"clip": 0.2}, {"lr": 1e-5}),
        updated("q", [D1, D2], "ppo", {"clip": 0.2}, {"lr": 1e-5}),
        updated("p", [D2, D1], "ppo", {"clip": 0.2}, {"lr": 1e-5}),
        updated("p", [D1], "ppo", {"clip": 0.2}, {"lr": 1e-5}),
        updated("p", [D1, D2, D2], "ppo", {"clip": 0.2}, {"lr": 1e-5}),
        updated("p", [D1 + D2], "ppo", {"clip": 0.2}, {"lr": 1e-5}),
        updated("p", [D1, D2], "is", {"clip": 0.2}, {"lr": 1e-5}),
        updated("p", [D1, D2], "ppo", {"clip": 0.3}, {"lr": 1e-5}),
        updated("p", [D1, D2], "ppo", {}, {"lr": 1e-5}),
        updated("p", [D1, D2], "ppo", {"clip": 0.2}, {"lr": 1.0000000001e-5}),
        updated("p", [D1, D2], "ppo", {"lr": 1e-5}, {"clip": 0.2}),
    ]
    assert len(set(names)) == len(names)


def test_the_order_of_settings_does_not_count() -> None:
    one = updated("p", [D1], "ppo", {"a": 1, "b": 2}, {"c": {"x": 1, "y": 2}})
    assert one == updated("p", [D1], "ppo", {"b": 2, "a": 1}, {"c": {"y": 2, "x": 1}})


def test_settings_that_have_no_canonical_form_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        adapted("p", 8, 1, {"alpha": float("nan")})
    with pytest.raises(TypeError, match="have names"):
        adapted("p", 8, 1, {"nested": {1: 2}})


def test_every_part_of_a_datum_counts() -> None:
    data: list[tuple[Sequence[int], dict[str, Sequence[float] | Sequence[int]]]] = [
        ([1, 2], {"weights": [0.0, 1.0]}),
        ([2, 1], {"weights": [0.0, 1.0]}),
        ([1], {"weights": [0.0, 1.0]}),
        ([1, 2], {"weights": [1.0, 0.0]}),
        ([1, 2], {"weights": [0.0, 1.0, 0.0]}),
        ([1, 2], {"targets": [0.0, 1.0]}),
        ([1, 2], {"weights": [0.0], "x": [1.0]}),
        ([1, 2], {"weights": [], "x": [0.0, 1.0]}),
        ([1, 2], {"weights": [0.0, float(np.nextafter(np.float32(1), np.float32(2)))]}),
        ([1, 2], {"weights": [0, 1]}),
        ([1, 2], {"weights": [0, 2**40]}),
        ([1, 2, 0, 1], {}),
        ([], {}),
    ]
    digests = {digest_datum(tokens, inputs) for tokens, inputs in data}
    assert len(digests) == len(data)


def test_the_order_of_inputs_and_the_kind_of_sequence_do_not_count() -> None:
    one = digest_datum([1, 2], {"a": [3, 2**60], "b": [0.5, 1]})
    assert one == digest_datum((1, 2), {"b": (0.5, 1.0), "a": np.array([3, 2**60])})  # type: ignore[dict-item]


@given(st.lists(st.floats(width=32)), st.lists(st.floats(width=32)))
def test_floats_are_told_apart_by_their_float32_bits(one: list[float], other: list[float]) -> None:
    same = len(one) == len(other) and struct.pack(f"{len(one)}f", *one) == struct.pack(f"{len(other)}f", *other)
    assert (digest_datum([], {"x": one}) == digest_datum([], {"x": other})) == same
