from collections.abc import Callable
from typing import Any

import pytest

from posttrain.errors import DataError, SettingsError
from posttrain.wiki.ablation_settings import AblationSettings
from posttrain.wiki.sweep import NOT_SHOWN, ONE_SEED, REAL, Sweep, sweep
from posttrain.wiki.sweep_runs import Experiment

BASE = {"grpo.lr": 1e-4, "grpo.steps": 4.0}
SETTINGS = AblationSettings(resamples=999, confidence=0.95, seed=0)
QUESTIONS = 20


def experiment(lr: Any, seed: int, right: int, **changes: Any) -> Experiment:
    """One that answered the first `right` of 20 questions."""
    parts: dict[str, Any] = {
        "name": f"lr{lr}-{seed}",
        "rev": "abc",
        "made": "2026",
        "state": "finished",
        "params": {**BASE, "grpo.lr": lr},
        "seed": seed,
        "metrics": {"f1": right / QUESTIONS, "n": QUESTIONS, "best": True},
        "code": {"a.py": "1"},
        "outs": {},
    }
    return Experiment(**{**parts, **changes})


def scores(each: Experiment) -> dict[str, float]:
    return {f"q{number:02}": float(number < each.metrics["f1"] * QUESTIONS) for number in range(QUESTIONS)}


def swept(
    experiments: list[Experiment],
    scored: Callable[[Experiment], dict[str, float] | str] = scores,
    baseline: str | None = None,
    metric: str = "f1",
    base: dict[str, Any] = BASE,
) -> Sweep:
    return sweep(base, experiments, scored, SETTINGS, metric, "val", baseline)


THREE = [experiment(lr, seed, right + seed) for lr, right in ((3e-4, 14), (1e-4, 4), (2e-4, 5)) for seed in (2, 0, 1)]


def test_rows_are_configurations_with_the_commits_own_first() -> None:
    made = swept(THREE)
    assert [row.label for row in made.configurations] == ["grpo.lr=0.0001", "grpo.lr=0.0002", "grpo.lr=0.0003"]
    assert [row.mean for row in made.configurations] == pytest.approx([0.25, 0.3, 0.75])
    assert made.configurations[0].seeds == [0, 1, 2]
    assert made.configurations[0].experiments == ["lr0.0001-0", "lr0.0001-1", "lr0.0001-2"]
    assert [row.verdict for row in made.configurations] == ["baseline", NOT_SHOWN, REAL]
    assert (made.left_out, made.notes) == ([], [])


def test_p_is_corrected_over_the_sweep() -> None:
    [_, _, real] = swept(THREE).configurations
    # No resample reaches zero, so p is 2 / 1000, and Holm doubles the smaller of two.
    assert real.p_holm == pytest.approx(2 * 2 / 1000)
    [_, alone] = swept([each for each in THREE if each.params["grpo.lr"] != 2e-4]).configurations
    assert alone.p_holm == pytest.approx(2 / 1000)
    assert alone.difference is not None
    assert alone.difference.mean == pytest.approx(0.5)
    assert 0.1 < alone.difference.low < 0.5 < alone.difference.high < 0.8


def test_another_baseline() -> None:
    for given in ("grpo.lr=3e-4", "grpo.lr=0.0003", " grpo.lr=0.00030 "):
        rows = swept(THREE, baseline=given).configurations
        assert [row.settings["grpo.lr"] for row in rows] == [3e-4, 1e-4, 2e-4]
    with pytest.raises(SettingsError, match=r"no configuration grpo\.lr=5; there are grpo\.lr=0\.0001; grpo"):
        swept(THREE, baseline="grpo.lr=5")
    assert swept(THREE, base={}).configurations[0].label == "grpo.lr=0.0001"


def test_several_settings_and_values_that_are_no_numbers() -> None:
    runs = [
        experiment(1e-4, seed, 4, params={**BASE, "grpo.loss": loss, "grpo.steps": steps}, name=f"{loss}{steps}{seed}")
        for loss in ("ppo", None)
        for steps in (4.0, 8.0)
        for seed in (0, 1)
    ]
    made = swept(runs)
    assert [row.label for row in made.configurations] == [
        "grpo.loss=None grpo.steps=4",
        "grpo.loss=ppo grpo.steps=4",
        "grpo.loss=ppo grpo.steps=8",
        "grpo.loss=None grpo.steps=8",
    ]
    assert swept(runs, baseline="grpo.steps=8,grpo.loss=ppo").configurations[0].settings["grpo.steps"] == 8


def test_one_seed_is_shown_and_not_judged() -> None:
    one, many = swept([THREE[0], *THREE[3:6]]), swept([*THREE[:3], THREE[3]])
    for made in (one, many):
        [first, other] = made.configurations
        assert (other.verdict, other.p_holm) == (ONE_SEED, None)
        assert first.interval is not None
        assert other.difference is not None
    assert swept([THREE[3]]).configurations[0].label == "(all alike)"


def test_without_scores_per_question_it_is_students_t() -> None:
    made = swept(THREE, lambda each: f"rows of {each.name} are gone")
    assert made.method == ("Student's t over seeds, differences unpaired (Welch), because rows of lr0.0001-0 are gone")
    base, near, _ = made.configurations
    assert base.interval is not None
    assert near.difference is not None
    # Deviation 0.05 on three seeds: 0.25 ± 4.30265 × 0.05 / √3; a difference has √2 the error and 4 degrees.
    assert base.interval.low == pytest.approx(0.25 - 4.302653 * 0.05 / 3**0.5)
    assert near.difference.high == pytest.approx(0.05 + 2.776445 * 0.05 * (2 / 3) ** 0.5)
    assert [row.verdict for row in made.configurations] == ["baseline", NOT_SHOWN, REAL]
    [_, single] = swept([THREE[0], *THREE[3:6]], lambda _: "no rows").configurations
    assert (single.interval, single.difference, single.verdict) == (None, None, ONE_SEED)


def test_other_questions_cannot_be_paired() -> None:
    made = swept(THREE, lambda each: {"x": 1.0} if each is THREE[0] else scores(each))
    assert "because lr0.0003-2 was scored on other questions than lr0.0001-0" in made.method


def test_what_has_no_result_is_listed_apart() -> None:
    queued = experiment(5e-4, 7, 0, state="queued", metrics={})
    twice = experiment(1e-4, 0, 9, name="earlier")
    made = swept([twice, queued, *THREE])
    assert made.left_out == [
        ("lr0.0005-7 (grpo.lr=0.0005 run.seed=7)", "queued"),
        ("earlier (run.seed=0)", "has the settings and seed of lr0.0001-0"),
    ]
    assert [row.mean for row in made.configurations] == pytest.approx([0.25, 0.3, 0.75])


def test_notes_tell_what_weakens_the_comparison() -> None:
    pairs = [each for each in THREE if each.seed < 2]
    assert swept(pairs).notes == ["two seeds can give intervals that are too narrow; run three or more"]
    other = [experiment(1e-4, 2, 6, code={"a.py": "2", "b.py": "1"}), *pairs]
    assert "the experiments ran different code: a.py" in swept(other).notes


def test_nothing_to_show() -> None:
    with pytest.raises(DataError, match=r"no experiment of this commit has finished \(1 failed\); queue"):
        swept([experiment(1, 0, 0, state="failed")])
    with pytest.raises(DataError, match=r"\(there is none\)"):
        swept([])
    with pytest.raises(SettingsError, match=r"lr0\.0003-2 has no metric f1_; did you mean f1\?"):
        swept(THREE, metric="f1_")
    with pytest.raises(SettingsError, match="has no metric best; there are f1, n"):
        swept(THREE, metric="best")
