import json
from pathlib import Path

import pytest

from posttrain.errors import DataError, SettingsError
from posttrain.euler.transfer.report import transfer_report
from posttrain.stats.proportions import wilson
from tests.euler import fake_rounds
from tests.euler.transfer.rounds import ALL, manifest, played


def test_it_has_a_row_for_each_task_language_and_both(tmp_path: Path) -> None:
    made = manifest(trained_on=(1, 2))
    result = transfer_report(played(tmp_path, made, lambda each: each.index == 0 or each.language == "julia"), 0.95)
    assert json.loads(json.dumps(result)) == result
    assert (result["suite"], result["origin"], result["revision"], result["trained_on"]) == (
        "transfer-v1",
        "live",
        "r1",
        [1, 2],
    )
    assert (result["rollouts"], result["lost"]) == (24, 0)
    assert [(row["task"], row["qualified"], row["n"]) for row in result["tasks"]] == [(n, 4, 6) for n in (1, 2, 3, 4)]
    assert [(row["language"], row["qualified"], row["n"]) for row in result["languages"]] == [
        ("python", 4, 8),
        ("javascript", 4, 8),
        ("julia", 8, 8),
    ]
    assert [(row["name"], row["language"]) for row in result["cells"]][-3:] == [
        ("aggregation across file shards", name) for name in ALL
    ]
    estimate = wilson(16, 24, confidence=0.95)
    total = result["total"]
    assert (total["qualified"], total["n"]) == (16, 24)
    assert (total["low"], total["high"]) == pytest.approx((estimate.low, estimate.high), abs=1e-6)
    assert (total["axes"]["mutated"], total["axes"]["output"]) == (1.0, pytest.approx(16 / 24, abs=1e-6))
    assert (total["tokens_in"], total["tokens_out"], total["seconds_median"]) == (100, 20, 2.0)


def test_lost_rollouts_are_counted_and_are_no_zeros(tmp_path: Path) -> None:
    some = transfer_report(played(tmp_path / "some", qualifies=lambda each: True if each.index else None), 0.95)
    assert (some["lost"], some["total"]["n"], some["total"]["share"]) == (12, 12, 1.0)
    none = transfer_report(played(tmp_path / "none", qualifies=lambda _: None), 0.95)
    assert (none["lost"], none["total"], none["tasks"], none["cells"]) == (24, None, [], [])


def test_other_rounds_are_refused(tmp_path: Path) -> None:
    problems = fake_rounds.problem_set(tmp_path / "problems")
    climbing = fake_rounds.played(tmp_path / "climbing", problems, fake_rounds.manifest(problems))
    older = played(tmp_path / "older", manifest(problems_sha256="0" * 64))
    for finished in (climbing, older):
        with pytest.raises(DataError, match="sample a transfer round"):
            transfer_report(finished, 0.95)
    with pytest.raises(SettingsError, match="confidence"):
        transfer_report(played(tmp_path / "new"), 1.5)
