from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posttrain.errors import SettingsError
from posttrain.euler.settings import FanoutSettings, GateSettings, ReportSettings, check_gate
from posttrain.euler.signature import code_sha256, differences, files_sha256
from posttrain.settings import load
from tests.euler.fake_rounds import FANOUT, GATE, SIGNATURE


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"model": "x"}, "model: 'tiny' and 'x'"),
        ({"revision": "x"}, "revision: 'r1' and 'x'"),
        ({"provider": "x"}, "provider: 'local' and 'x'"),
        ({"thinking": "low"}, "thinking: '' and 'low'"),
        ({"scorer_sha256": "x"}, "scorer_sha256: 'a' and 'x'"),
        ({"evaluator_sha256": "x"}, "evaluator_sha256: 'b' and 'x'"),
        ({"prompts_sha256": "x"}, "prompts_sha256: 'c' and 'x'"),
        ({"tools_sha256": "x"}, "tools_sha256: 'd' and 'x'"),
        ({"sampling": {}}, "sampling: {'temperature': '1'} and {}"),
        ({"languages": ("julia",)}, "languages: ('python', 'julia') and ('julia',)"),
    ],
)
def test_what_differs_is_named_and_changes_the_digest(change: dict[str, Any], line: str) -> None:
    other = replace(SIGNATURE, **change)
    assert differences(SIGNATURE, other) == [line]
    assert other.digest != SIGNATURE.digest


def test_equal_signatures_do_not_differ() -> None:
    assert differences(SIGNATURE, replace(SIGNATURE)) == []
    assert replace(SIGNATURE, sampling={"temperature": "1"}).digest == SIGNATURE.digest


def test_code_is_hashed_with_all_that_it_imports(tmp_path: Path) -> None:
    assert code_sha256("posttrain.euler.score") == code_sha256("posttrain.euler.score")
    assert code_sha256("posttrain.euler.score") != code_sha256("posttrain.euler.reply")
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_text("1")
    other.write_text("2")
    both = files_sha256([one, other], tmp_path)
    assert files_sha256([other, one], tmp_path) == both
    other.write_text("3")
    assert files_sha256([one, other], tmp_path) != both


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (replace(FANOUT, languages=[]), "languages"),
        (replace(FANOUT, languages=["cobol"]), "languages"),
        (replace(FANOUT, languages=["julia", "julia"]), "languages"),
        (replace(FANOUT, strategies=["guess"]), "strategies"),
        (replace(FANOUT, rollouts=0), "rollouts"),
        (replace(FANOUT, regression_rollouts=0), "regression_rollouts"),
        (replace(FANOUT, regression_problems=-1), "regression_problems"),
        (replace(GATE, required=0), "required"),
        (replace(GATE, rounds=0), "rounds"),
        (replace(GATE, min_regression_rate=1.5), "min_regression_rate"),
        (ReportSettings(1.0), "confidence"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings: Any, field: str) -> None:
    with pytest.raises(SettingsError, match=f"^{field}: "):
        settings.check()


def test_a_gate_that_nothing_can_pass_is_refused() -> None:
    check_gate(FANOUT, GATE)
    with pytest.raises(SettingsError, match=r"gate\.required: 5 of 4"):
        check_gate(FANOUT, replace(GATE, required=5))


def test_settings_are_read_from_params(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(
        "fanout:\n  languages: [python]\n  rollouts: 8\n  regression_problems: 3\n  regression_rollouts: 2\n"
        "  strategies: [derive]\ngate:\n  required: 6\n  rounds: 2\n  min_regression_rate: 0.75\n"
    )
    assert load("fanout", FanoutSettings, path) == FanoutSettings(["python"], 8, 3, 2, ["derive"])
    assert load("gate", GateSettings, path) == GateSettings(6, 2, 0.75)
