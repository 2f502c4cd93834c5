import random
from typing import Any

import pytest

from posttrain.train.alarms import Alarm, alarms

STEPS = 30


def healthy(step: int, noise: random.Random) -> dict[str, Any]:
    return {
        "step": step,
        "reward": 0.40 + 0.008 * step + noise.uniform(-0.01, 0.01),
        "skipped_groups": 0.2 + 0.01 * step + noise.uniform(-0.03, 0.03),
        "searches": 2.3 + noise.uniform(-0.15, 0.15),
        "answered": 0.97,
        "budget_hit": noise.uniform(0.0, 0.03),
        "tokens": 300 + 2 * step + noise.uniform(-15, 15),
        "answer_length": 2.6 + noise.uniform(-0.3, 0.3),
        "logprob_gap_mean": noise.uniform(-0.005, 0.005),
        "logprob_gap_tail": 0.02 + noise.uniform(0, 0.01),
    }


def curve(**changes: Any) -> list[dict[str, Any]]:
    """A healthy run with some keys replaced by a constant or a function of the step (from 0)."""
    noise = random.Random(11)
    return [
        healthy(step, noise) | {key: value(step) if callable(value) else value for key, value in changes.items()}
        for step in range(STEPS)
    ]


def test_a_healthy_run_is_silent() -> None:
    assert alarms(curve()) == []
    assert alarms([]) == []
    assert alarms(curve()[:1]) == []


@pytest.mark.parametrize(
    ("changes", "name", "step", "remedies"),
    [
        ({"reward": 0.4}, "reward_flat", 14, ["grpo.lr", "grpo.questions", "grpo.group"]),
        ({"reward": lambda step: 0.6 - 0.01 * step}, "reward_flat", 14, ["grpo.lr", "earlier state"]),
        ({"skipped_groups": lambda step: min(1.0, 0.1 * step)}, "skipped_groups", 9, ["grpo.group"]),
        (
            {"searches": lambda step: max(1.0, 2.4 - 0.1 * step)},
            "searches_falling",
            12,
            ["prompts/research.md", "grpo.lr"],
        ),
        ({"budget_hit": lambda step: 0.05 if step >= 7 else 0.04}, "budget_hit", 7, ["harness.max_searches"]),
        ({"tokens": lambda step: 300 * 1.06**step}, "tokens_growing", 9, ["harness.max_tokens", "grpo.lr"]),
        (
            {"answer_length": lambda step: 2.5 if step < 20 else 6.0},
            "answer_length_growing",
            21,
            ["prompts/research.md"],
        ),
        ({"logprob_gap_tail": lambda step: 0.02 + 0.01 * step}, "logprob_gap", 8, ["grpo.lr"]),
    ],
)
def test_each_alarm_fires_once_when_its_condition_begins(
    changes: dict[str, Any], name: str, step: int, remedies: list[str]
) -> None:
    (alarm,) = alarms(curve(**changes))
    assert (alarm.name, alarm.step) == (name, step)
    assert all(remedy in alarm.message for remedy in remedies)
    assert "\n" not in alarm.message


def test_alarms_so_far_never_change_as_the_run_goes_on() -> None:
    rows = curve(reward=0.4, budget_hit=lambda step: 0.2 * (step % 4 == 3))
    final = alarms(rows)
    for steps in range(STEPS):
        assert alarms(rows[:steps]) == [alarm for alarm in final if alarm.step < steps]


def test_a_condition_that_ended_may_begin_again() -> None:
    found = alarms(curve(budget_hit=lambda step: 0.2 if step in (3, 4, 9) else 0.0))
    assert [(alarm.name, alarm.step) for alarm in found] == [("budget_hit", 3), ("budget_hit", 9)]


def test_alarms_come_in_order_of_step_and_take_it_from_the_rows() -> None:
    rows = curve(reward=0.4, budget_hit=lambda step: 0.1 if step >= 2 else 0.0)
    shifted = [row | {"step": row["step"] + 31} for row in rows]
    assert [(alarm.step, alarm.name) for alarm in alarms(shifted)] == [(33, "budget_hit"), (45, "reward_flat")]


def test_skipped_groups_have_two_causes_with_two_remedies() -> None:
    def message(reward: float) -> str:
        found = alarms(curve(reward=reward, skipped_groups=0.95)[:3])
        return found[0].message

    assert "solved" in message(0.9)
    assert "grpo.group" in message(0.1)


def test_a_reward_near_the_top_may_be_flat() -> None:
    assert alarms(curve(reward=0.97)) == []


def test_a_run_that_never_searched_much_is_not_falling() -> None:
    assert alarms(curve(searches=1.1)) == []


def test_slow_growth_is_no_alarm() -> None:
    assert alarms(curve(tokens=lambda step: 300 * 1.02**step)) == []
    assert alarms(curve(answer_length=0.0)) == []


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_keys_without_a_value_raise_no_alarm(nothing: float | None) -> None:
    keys = [key for key in curve()[0] if key != "step"]
    assert alarms(curve(**dict.fromkeys(keys, nothing))) == []
    assert alarms([{"step": step} for step in range(STEPS)]) == []


def test_a_missing_value_does_not_hide_a_flat_reward() -> None:
    found = alarms(curve(reward=lambda step: None if step == 5 else 0.4))
    assert [(alarm.name, alarm.step) for alarm in found] == [("reward_flat", 15)]
    assert isinstance(found[0], Alarm)
