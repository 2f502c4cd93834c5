import copy
from typing import Any

import pytest

from posttrain.wiki.report_story import Price, sentences

DELTA = {"delta": 0.138, "ci": [0.063, 0.211], "p_holm": 0.0039, "smallest_detectable": 0.1}
NUMBERS = {"f1": 0.25, "searches": 1.5}
ABLATION: dict[str, Any] = {
    "arms": dict.fromkeys(("closed_book", "base", "sft", "grpo", "grpo_top1", "grpo_budget2"), NUMBERS),
    "confidence": 0.95,
    "steps": dict.fromkeys(("sft", "grpo", "grpo_top1", "grpo_budget2"), DELTA),
}
PRICES = {"sft": Price(2.9, "6,000 attempts sampled"), "grpo": Price(8.534, "30 steps")}


def told(**step: Any) -> str:
    """The sentence on GRPO."""
    ablation = copy.deepcopy(ABLATION)
    ablation["steps"]["grpo"] = {**DELTA, **step}
    [found] = [line for line in sentences(ablation, PRICES) if line.startswith("GRPO ")]
    return found


def test_a_sentence_for_each_arm() -> None:
    lines = sentences(ABLATION, PRICES)
    starts = ["Closed book", "Base", "SFT adds", "GRPO adds", "GRPO, top-1 adds", "GRPO, budget 2 adds"]
    assert [line.startswith(start) for line, start in zip(lines, starts, strict=True)] == [True] * 6


def test_what_it_added_at_what_price_and_whether_it_is_real() -> None:
    assert told() == (
        "GRPO adds 0.138 F1 to SFT for 8.53 USD (30 steps): real, its interval excludes 0 "
        "(95% interval +0.063 to +0.211, p 0.004 after Holm)."
    )


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"delta": -0.1, "ci": [-0.2, -0.01]}, "GRPO loses 0.100 F1 against SFT for 8.53 USD (30 steps): real"),
        ({"delta": 0.05, "ci": [-0.01, 0.1]}, "not shown to be real, its interval holds 0; a true difference of 0.100"),
        ({"delta": 0.05, "ci": [0.0, 0.1]}, "not shown to be real"),
        ({"delta": 0.0, "ci": [0.0, 0.0]}, "GRPO scores the same F1 as SFT for 8.53 USD (30 steps): no question was"),
        ({"delta": 0.0, "ci": [-0.1, 0.1]}, "GRPO scores the same F1 as SFT for 8.53 USD (30 steps): not shown"),
    ],
)
def test_verdicts(step: dict[str, Any], said: str) -> None:
    assert said in told(**step)
