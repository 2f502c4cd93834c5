from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError, SettingsError
from posttrain.stats.bootstrap import Estimate, mean_intervals
from posttrain.stats.paired import compare_paired, holm, sign_flip_p, smallest_detectable

USUAL: dict[str, Any] = {"resamples": 1_000, "confidence": 0.95, "seed": 0}


def scores(values: Any) -> dict[str, float]:
    return {f"q{number}": float(value) for number, value in enumerate(values)}


def test_an_arm_is_compared_question_by_question() -> None:
    generator = np.random.default_rng(0)
    base_N = generator.random(100)
    better_N = base_N + generator.normal(0.05, 0.02, 100)
    found = compare_paired({"better": scores(better_N)}, scores(base_N), **USUAL)["better"]
    assert found.difference.mean == pytest.approx(0.05, abs=0.01)
    assert found.difference.low > 0.04
    assert found.p == pytest.approx(1 / 1001)
    assert found.smallest_detectable < 0.01
    order = sorted(scores(base_N))
    differences = [scores(better_N)[key] - scores(base_N)[key] for key in order]
    assert mean_intervals(differences, **USUAL) == [found.difference]


def test_the_order_of_ids_does_not_matter() -> None:
    base, arm = scores([0.1, 0.5, 0.9, 0.3]), scores([0.2, 0.4, 1.0, 0.8])
    turned = dict(reversed(arm.items()))
    assert compare_paired({"arm": arm}, base, **USUAL) == compare_paired({"arm": turned}, base, **USUAL)


def test_equal_arms_and_constant_differences_work() -> None:
    base = scores([0.25, 0.5, 0.75] * 10)
    higher = {key: value + 0.25 for key, value in base.items()}
    found = compare_paired({"same": base, "higher": higher}, base, **USUAL)
    assert found["same"].difference == Estimate(0.0, 0.0, 0.0)
    assert (found["same"].p, found["same"].smallest_detectable) == (1.0, 0.0)
    assert found["higher"].difference == Estimate(0.25, 0.25, 0.25)
    assert found["higher"].p < 0.01
    assert found["higher"].smallest_detectable == 0.0


def test_no_arms_give_no_comparisons() -> None:
    assert compare_paired({}, scores([0.5]), **USUAL) == {}


@pytest.mark.parametrize(
    ("arm", "base", "message"),
    [
        (scores([1, 2]), scores([1, 2, 3]), r"arm sft lacks 1 of 3 question ids \(q2\)"),
        (scores([1, 2, 3]), scores([1, 2]), r"arm sft has unshared 1 of 2 question ids \(q2\)"),
        ({"other": 1.0}, {"q0": 1.0}, r"arm sft lacks 1 of 1 question ids \(q0\)"),
        ({}, {}, "no scores"),
        ({"q0": 1.0}, {"q0": 0.5}, "at least 2 questions"),
        (scores([1, float("nan")]), scores([1, 2]), "nan"),
        (scores([1, 2]), scores([1, float("nan")]), "nan"),
    ],
)
def test_bad_scores_are_refused(arm: dict[str, float], base: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        compare_paired({"sft": arm}, base, **USUAL)


def test_sign_flips_agree_with_the_exact_test() -> None:
    differences_N = np.random.default_rng(2).normal(0.4, 1.0, 12)
    exact = scipy.stats.permutation_test(
        (differences_N,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    (found,) = sign_flip_p(differences_N, flips=40_000, seed=0)
    assert found == pytest.approx(exact, abs=0.01)


def test_sign_flips_count_ties_as_extreme() -> None:
    (found,) = sign_flip_p([0.1] * 5, flips=40_000, seed=0)
    assert found == pytest.approx(2 / 32, abs=0.005)
    assert sign_flip_p([[0.0] * 5, [0.1, -0.1, 0.2, -0.2, 0.0]], flips=1_000, seed=0) == [1.0, 1.0]


def test_sign_flip_p_is_uniform_without_an_effect() -> None:
    p_A = np.array(sign_flip_p(np.random.default_rng(4).normal(size=(600, 40)), flips=400, seed=5))
    assert scipy.stats.kstest(p_A, "uniform").pvalue > 0.01
    assert (p_A <= 0.05).mean() <= 0.08


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.integers(0, 9))
@settings(deadline=None, max_examples=50)
def test_sign_flip_p_ignores_the_direction_of_the_effect(differences: list[float], seed: int) -> None:
    (p,) = sign_flip_p(differences, flips=100, seed=seed)
    assert 0 < p <= 1
    assert sign_flip_p([-value for value in differences], flips=100, seed=seed) == [p]


def test_sign_flips_need_a_number_and_a_seed() -> None:
    for flips, seed in ((0, 0), (10, -1)):
        with pytest.raises(SettingsError, match="flips"):
            sign_flip_p([0.1, 0.2], flips=flips, seed=seed)


def test_smallest_detectable_is_the_textbook_number() -> None:
    differences_N = np.random.default_rng(6).normal(0, 0.4, 500)
    expected = (1.959964 + 0.841621) * differences_N.std(ddof=1) / np.sqrt(500)
    assert smallest_detectable(differences_N) == pytest.approx(expected, rel=1e-6)


def test_an_effect_of_the_smallest_detectable_size_is_found_four_times_in_five() -> None:
    effect = (1.959964 + 0.841621) * 1.0 / np.sqrt(60)
    p_A = np.array(sign_flip_p(np.random.default_rng(8).normal(effect, 1.0, (600, 60)), flips=400, seed=9))
    assert (p_A <= 0.05).mean() == pytest.approx(0.8, abs=0.05)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_never_lowers_a_p(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= corrected <= 1 for p, corrected in zip(p_values, adjusted, strict=True))
    ranked = sorted(zip(p_values, adjusted, strict=True))
    assert [corrected for _, corrected in ranked] == sorted(adjusted)
    bonferroni = [min(1.0, p * len(p_values)) for p in p_values]
    assert all(corrected <= worst for corrected, worst in zip(adjusted, bonferroni, strict=True))


@pytest.mark.parametrize("p", [float("nan"), -0.1, 1.1])
def test_holm_refuses_what_is_no_probability(p: float) -> None:
    with pytest.raises(DataError, match="p value 1 is"):
        holm([0.5, p])
