"""The whole path from a model's words to the frontier, with scripts in the model's place and all else real."""

from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import InfrastructureError
from posttrain.euler.agent.settings import AgentSettings, PolicySettings
from posttrain.euler.evaluate import Conditions
from posttrain.euler.machine import probe, try_machine
from posttrain.euler.proxy.cases import BAD
from posttrain.euler.rehearse import rehearse
from posttrain.euler.round_files import RESULTS
from posttrain.euler.sandbox.protocol import Sandbox
from posttrain.euler.settings import FanoutSettings, GateSettings
from tests.euler.agent.pi import need_pi
from tests.euler.sandboxes import SETTINGS
from tests.project import ROOT

PI, PROMPTS = ROOT / "euler" / "pi", ROOT / "euler" / "prompts"
AGENT = AgentSettings(wall_seconds=120.0, turns=10, concurrency=2, tries=2)
POLICY = PolicySettings("script", None, "cases", None, None, "", "", None, 1.0, 512, 16384, 0)


@pytest.mark.timeout(300)
def test_a_solver_moves_the_frontier_and_eight_ways_not_to_do_not(bubblewrap: Sandbox, tmp_path: Path) -> None:
    del bubblewrap  # skips where it does not work
    need_pi()
    machine, probes = try_machine(SETTINGS, ["python"], PI)
    assert [(each.language, each.error) for each in probes] == [("python", "")]
    fanout, gate = FanoutSettings(["python"], 8, 2, 1, ["derive"]), GateSettings(6, 2, 0.5)
    conditions = Conditions(machine, AGENT, fanout, gate, PROMPTS)
    done = rehearse(conditions, POLICY, tmp_path)
    assert done.rounds == (
        ("first", "passed", "counted"),
        ("second", "passed", "unlocked"),
        ("cases", "failed", "reset"),
    )
    assert sorted(each.case for each in done.judgements) == sorted([*BAD, "solving"])
    assert [each for each in done.judgements if not each.right] == []
    assert sum(each.qualified for each in done.judgements) == 2
    assert done.current == 2
    assert done.right
    rows = [(tmp_path / place / RESULTS).read_bytes() for place in ("first", "second", "cases")]
    assert rehearse(conditions, POLICY, tmp_path).judgements == done.judgements
    assert rows == [(tmp_path / place / RESULTS).read_bytes() for place in ("first", "second", "cases")]


def test_a_language_without_its_runtime_fails_before_anything_is_sampled(bubblewrap: Sandbox, tmp_path: Path) -> None:
    if not probe(bubblewrap, "julia").error:
        pytest.skip("julia: it is installed")
    with pytest.raises(InfrastructureError, match=r"julia does not run in the sandbox \(`julia --version` gave .* 127"):
        try_machine(SETTINGS, ["python", "julia"], PI)
    with pytest.raises(InfrastructureError, match="run `npm ci --ignore-scripts` in"):
        try_machine(replace(SETTINGS, kind="bubblewrap"), ["python"], tmp_path)
