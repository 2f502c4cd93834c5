import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posttrain.errors import DataError, SettingsError
from posttrain.euler.curriculum_file import apply_round, read_state
from posttrain.euler.manifest import RoundKind
from posttrain.euler.plan import explore_plan, probe_plan
from posttrain.euler.planned import Planned
from posttrain.euler.report import report
from posttrain.euler.report_text import report_markdown
from posttrain.euler.rounds import Round
from posttrain.euler.settings import ReportSettings
from posttrain.stats.proportions import wilson
from tests.euler.fake_rounds import FANOUT, SIGNATURE, manifest, played, problem_set

SETTINGS = ReportSettings(0.95)


def _below(limit: int | None, planned: Planned) -> bool | None:
    """The first rollouts of each group qualify; without a limit all are lost."""
    return None if limit is None else planned.index < limit


@pytest.fixture(scope="module")
def climb(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Round], Path]:
    """Two rounds that master problem 1, one before and one after training on problem 2, and others beside them."""
    folder = tmp_path_factory.mktemp("climb")
    problems, state = problem_set(folder / "problems"), folder / "climb.json"
    trained = replace(SIGNATURE, revision="r2")
    made = [
        manifest(problems),
        manifest(problems),
        manifest(problems, 2, (1,)),
        manifest(problems, 2, (1,), signature=trained, trained_on=(2,)),
        manifest(problems, 2, kind=RoundKind("explore", "live"), plan=explore_plan(2, FANOUT)),
        manifest(
            problems, 2, kind=RoundKind("probe", "live"), plan=probe_plan((5, 6), "future", FANOUT), trained_on=(6,)
        ),
        manifest(problems, 2, kind=RoundKind("probe", "live"), plan=probe_plan((1,), "variant", FANOUT)),
        manifest(problems, kind=RoundKind("canonical", "replay")),
        manifest(problems, 2, (1,)),
    ]
    rounds = []
    for number, each in enumerate(made):
        limit = None if number == len(made) - 1 else 3
        qualifies = partial(_below, limit)
        rounds.append(played(folder / str(number), problems, each, qualifies))
        apply_round(state, folder / str(number))
    return rounds, state


@pytest.fixture(scope="module")
def result(climb: tuple[list[Round], Path]) -> dict[str, Any]:
    return report(climb[0], read_state(climb[1]), SETTINGS)


def counts(claim: dict[str, Any]) -> tuple[int, int]:
    return sum(row["qualified"] for row in claim["models"]), sum(row["n"] for row in claim["models"])


def test_each_rollout_is_evidence_for_one_claim_at_most(
    result: dict[str, Any], climb: tuple[list[Round], Path]
) -> None:
    assert counts(result["forward_transfer"]) == (18, 24)
    assert counts(result["mastery"]["practised"]) == (6, 8)
    assert counts(result["regression"]) == (4, 4)
    assert counts(result["generalization"]) == (12, 16)
    assert result["left_out"] == {"replayed": 8, "lost": 10, "explored": 16, "trained_on": 8, "transfer": 0}
    claimed = 24 + 8 + 4 + 16 + sum(result["left_out"].values())
    assert claimed == sum(len(each.rollouts) for each in climb[0])


def test_mastery_is_the_frontier_and_what_it_took(result: dict[str, Any]) -> None:
    mastery = result["mastery"]
    assert (mastery["highest_mastered"], mastery["current"]) == (1, 2)
    assert mastery["mastered"] == [
        {"problem": 1, "signature": SIGNATURE.digest[:8], "rounds": 2, "rollouts": 16, "tokens": 16 * 120}
    ]


def test_intervals_are_wilsons(result: dict[str, Any]) -> None:
    before, after = result["regression"]["models"]
    assert before["model"] != after["model"]
    estimate = wilson(2, 2, confidence=0.95)
    for row in (before, after):
        assert (row["n"], row["qualified"], row["share"]) == (2, 2, 1.0)
        assert (row["low"], row["high"]) == (pytest.approx(estimate.low, abs=1e-6), 1.0)
    by_problem = result["generalization"]["problems"]
    assert [(row["role"], row["problem"], row["language"]) for row in by_problem] == [
        ("future", 5, "python"),
        ("future", 5, "julia"),
        ("variant", 1, "python"),
        ("variant", 1, "julia"),
    ]
    for row in by_problem:
        assert (row["low"], row["high"]) == pytest.approx((0.300642, 0.954413), abs=1e-6)


def test_languages_and_strategies_have_tables(result: dict[str, Any]) -> None:
    assert [row["language"] for row in result["languages"]] == ["python", "julia"]
    row = result["languages"][0]
    assert row["n"] == (8 + 8 + 8 + 8 + 4 + 4 + 16) / 2 + 2
    assert (row["tokens_in"], row["seconds_median"], row["tool_failures"]) == (100, 2.0, 0)
    assert row["axes"]["mutated"] == 1.0
    assert 0.7 < row["axes"]["output"] < 0.8
    strategies = {(row["problem"], row["language"], row["strategy"]): row["n"] for row in result["strategies"]}
    assert strategies[2, "python", "derive"] == strategies[2, "julia", "readable"] == 4
    assert strategies[1, "python", "canonical"] == 8


def test_warnings_say_where_to_look(result: dict[str, Any]) -> None:
    by_kind = {row["warning"]: row for row in result["memorization"]}
    unrun = by_kind["answer_without_run"]
    assert unrun["hits"] == len(unrun["rollouts"]) > 0
    assert unrun["qualified"] == 0
    assert by_kind["constant_print"]["rollouts"] == []


def test_the_report_is_json_and_markdown(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result)) == result
    text = report_markdown(result)
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Mastery",
        "## Forward transfer",
        "## Regression",
        "## Generalization",
        "## Languages",
        "## Strategies",
        "## Memorization warnings",
        "## Rounds",
    ]
    assert "Highest problem mastered without a gap: 1." in text
    assert "3 of 4 | 0.750 [0.301, 0.954]" in text
    assert "8 replayed, 10 lost to the infrastructure" in text
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) <= 1


def test_a_report_without_a_climb(climb: tuple[list[Round], Path]) -> None:
    found = report(climb[0][-1:], None, SETTINGS)
    assert found["mastery"]["highest_mastered"] is None
    assert found["languages"] == found["memorization"] == []
    assert "nothing is known of a frontier" in report_markdown(found)


def test_what_cannot_be_reported_is_refused(climb: tuple[list[Round], Path]) -> None:
    for rounds in ([], [climb[0][0], climb[0][0]]):
        with pytest.raises(DataError, match="each once"):
            report(rounds, None, SETTINGS)
    with pytest.raises(SettingsError, match="confidence"):
        report(climb[0], None, ReportSettings(2))
