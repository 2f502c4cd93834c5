import json
import random
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from posttrain.errors import DataError, SettingsError
from posttrain.wiki.ablation import compare, markdown_table
from posttrain.wiki.ablation_settings import AblationSettings

ARM_NAMES = ["closed_book", "base", "sft", "grpo", "grpo_top1", "grpo_budget2"]
SETTINGS = AblationSettings(resamples=1_000, confidence=0.95, seed=7)


def made_arms(n: int = 60) -> dict[str, list[dict[str, Any]]]:
    generator = random.Random(3)
    gains = dict(zip(ARM_NAMES, (-0.3, 0.0, 0.1, 0.25, 0.2, 0.15), strict=True))
    skill = [generator.uniform(0.3, 0.6) for _ in range(n)]
    return {
        arm: [
            {
                "id": f"q{number}",
                "f1": min(1.0, max(0.0, skill[number] + gain + generator.gauss(0, 0.1))),
                "em": float(generator.random() < 0.4 + gain),
                "searches": 0 if arm == "closed_book" else generator.randint(1, 5),
                "usd": 0.0007,
            }
            for number in range(n)
        ]
        for arm, gain in gains.items()
    }


def test_the_result_has_exactly_the_promised_shape() -> None:
    result = compare(made_arms(), SETTINGS, {"test_sha256": "cb4ad042f2c0ef38", "test_opened": 1})
    assert list(result) == ["arms", "confidence", "deltas", "steps", "test_sha256", "test_opened"]
    assert list(result["arms"]) == ARM_NAMES
    assert list(result["deltas"]) == [arm for arm in ARM_NAMES if arm != "base"]
    for arm in result["arms"].values():
        assert list(arm) == ["n", "f1", "f1_ci", "em", "searches", "usd_per_question"]
        assert arm["f1_ci"][0] < arm["f1"] < arm["f1_ci"][1]
    assert list(result["steps"]) == ["sft", "grpo", "grpo_top1", "grpo_budget2"]
    for delta in [*result["deltas"].values(), *result["steps"].values()]:
        assert list(delta) == ["delta", "ci", "p_holm", "smallest_detectable"]
        assert delta["ci"][0] < delta["delta"] < delta["ci"][1]
    assert json.loads(json.dumps(result)) == result


def test_values_are_the_means_and_paired_differences() -> None:
    arms = made_arms()
    result = compare(arms, SETTINGS)
    assert result["steps"]["sft"]["ci"] == result["deltas"]["sft"]["ci"]
    against_sft = result["arms"]["grpo"]["f1"] - result["arms"]["sft"]["f1"]
    assert result["steps"]["grpo"]["delta"] == pytest.approx(against_sft)

    def mean(arm: str, key: str) -> float:
        return fmean(row[key] for row in arms[arm])

    for arm in ARM_NAMES:
        found = result["arms"][arm]
        assert found["n"] == 60
        for key, name in (("f1", "f1"), ("em", "em"), ("searches", "searches"), ("usd", "usd_per_question")):
            assert found[name] == pytest.approx(mean(arm, key))
    for arm, delta in result["deltas"].items():
        assert delta["delta"] == pytest.approx(mean(arm, "f1") - mean("base", "f1"))
        assert delta["p_holm"] + 1e-9 >= 1 / 1001
    assert result["deltas"]["grpo"]["p_holm"] < 0.05
    assert result["deltas"]["grpo"]["smallest_detectable"] < 0.25


def test_the_order_of_rows_does_not_matter() -> None:
    arms = made_arms()
    shuffled = {arm: random.Random(arm).sample(rows, len(rows)) for arm, rows in reversed(arms.items())}
    assert compare(shuffled, SETTINGS) == compare(arms, SETTINGS)


def test_an_arm_equal_to_the_base_differs_by_nothing() -> None:
    arms = made_arms()
    arms["sft"] = arms["base"]
    assert compare(arms, SETTINGS)["deltas"]["sft"] == {
        "delta": 0.0,
        "ci": [0.0, 0.0],
        "p_holm": 1.0,
        "smallest_detectable": 0.0,
    }


def test_an_arm_without_variance_works() -> None:
    arms = made_arms()
    arms["closed_book"] = [{**row, "f1": 0.0, "em": 0.0} for row in arms["closed_book"]]
    result = compare(arms, SETTINGS)
    assert result["arms"]["closed_book"]["f1_ci"] == [0.0, 0.0]
    assert result["deltas"]["closed_book"]["ci"][1] < 0


def test_the_table_can_be_pasted() -> None:
    lines = markdown_table(compare(made_arms(), SETTINGS)).splitlines()
    assert lines[0] == "| Stage | F1 [95% CI] | EM | searches/q | $/q | Δ F1 vs base [95% CI] | p (Holm) |"
    assert len(lines) == 2 + 6
    assert {line.count("|") for line in lines} == {8}
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| Closed book",
        "| Base",
        "| SFT",
        "| GRPO",
        "| GRPO, top-1",
        "| GRPO, budget 2",
    ]
    assert lines[3].endswith("| 0.00070 | – | – |")
    assert "| +0." in lines[5]


def test_the_table_names_its_confidence_and_prints_numbers_as_given() -> None:
    result = compare(made_arms(), replace(SETTINGS, confidence=0.9))
    result["arms"]["grpo"] |= {"f1": 0.5, "f1_ci": [0.4, 0.61], "em": 0.25, "searches": 2.0, "usd_per_question": 0.0007}
    result["deltas"]["grpo"] = {"delta": -0.01, "ci": [-0.03, -0.0001], "p_holm": 0.0004, "smallest_detectable": 0.05}
    lines = markdown_table(result).splitlines()
    assert "F1 [90% CI]" in lines[0]
    assert lines[5] == "| GRPO | 0.500 [0.400, 0.610] | 0.250 | 2.00 | 0.00070 | -0.010 [-0.030, +0.000] | <0.001 |"


def test_bad_arms_are_refused_by_name() -> None:
    arms = made_arms()
    with pytest.raises(DataError, match=r"needed .*grpo_top1"):
        compare({arm: rows for arm, rows in arms.items() if arm != "grpo_top1"}, SETTINGS)
    with pytest.raises(DataError, match="grpo_top9"):
        compare({**arms, "grpo_top9": []}, SETTINGS)
    with pytest.raises(DataError, match="arm sft lacks 1 of 60 question ids"):
        compare({**arms, "sft": arms["sft"][:-1]}, SETTINGS)
    with pytest.raises(DataError, match="arm sft: question q0 is there twice"):
        compare({**arms, "sft": [*arms["sft"], arms["sft"][0]]}, SETTINGS)
    with pytest.raises(DataError, match="arm sft: row q0 lacks a finite em"):
        compare({**arms, "sft": [{**arms["sft"][0], "em": None}, *arms["sft"][1:]]}, SETTINGS)
    with pytest.raises(DataError, match="has no scored rows"):
        compare({arm: [] for arm in ARM_NAMES}, SETTINGS)
    with pytest.raises(DataError, match="arm sft: row q0 lacks a finite f1"):
        compare({**arms, "sft": [{**arms["sft"][0], "f1": float("nan")}, *arms["sft"][1:]]}, SETTINGS)
    with pytest.raises(DataError, match="row None lacks its id"):
        compare({**arms, "sft": [{**arms["sft"][0], "id": None}, *arms["sft"][1:]]}, SETTINGS)
    with pytest.raises(DataError, match="'arms'"):
        compare(arms, SETTINGS, {"arms": {}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resamples": 0}, "^resamples: must .*, is 0"),
        ({"resamples": 30}, "must be at least 40"),
        ({"confidence": 1.0}, r"^confidence: must .*, is 1\.0"),
        ({"confidence": 95}, "^confidence"),
        ({"seed": -1}, "^seed"),
    ],
)
def test_impossible_settings_are_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        replace(SETTINGS, **change).check()
    with pytest.raises(SettingsError, match=message):
        compare(made_arms(), replace(SETTINGS, **change))
