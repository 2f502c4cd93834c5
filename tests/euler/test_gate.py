from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.gate import judge
from posttrain.euler.manifest import Manifest, RoundKind
from posttrain.euler.plan import canonical_plan, explore_plan, probe_plan
from posttrain.euler.planned import Planned
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.rounds import Round
from posttrain.euler.settings import FanoutSettings, GateSettings
from tests.euler.fake_rounds import FANOUT, SIGNATURE, Qualifies, manifest, played, problem_set


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> ProblemSet:
    return problem_set(tmp_path_factory.mktemp("problems"))


@pytest.fixture
def play(tmp_path: Path, problems: ProblemSet) -> "Play":
    return Play(tmp_path, problems)


class Play:
    def __init__(self, folder: Path, problems: ProblemSet) -> None:
        self.folder, self.problems = folder, problems

    def __call__(self, made: Manifest | None = None, qualifies: Qualifies = lambda planned: planned.index < 3) -> Round:
        made = made or manifest(self.problems, 3, (1, 2))
        return played(self.folder / made.nonce, self.problems, made, qualifies)


def regression(planned: Planned) -> bool:
    return planned.role == "regression"


def test_a_round_passes_with_enough_in_every_language(play: Play) -> None:
    verdict = judge(play())
    assert (verdict.outcome, verdict.reasons) == ("passed", ())
    assert verdict.languages == {"python": (3, 4), "julia": (3, 4)}
    assert verdict.regression == (4, 4)


def test_one_language_short_fails_the_round(play: Play) -> None:
    verdict = judge(play(qualifies=lambda planned: planned.index < (2 if planned.language == "julia" else 4)))
    assert verdict.outcome == "failed"
    assert verdict.reasons == ("julia: 2 of 4 qualified, 3 are required",)


@pytest.mark.parametrize(("kept", "outcome"), [(4, "passed"), (2, "passed"), (1, "failed"), (0, "failed")])
def test_mastered_problems_must_be_kept(play: Play, kept: int, outcome: str) -> None:
    wanted = [planned for planned in canonical_plan(3, (1, 2), FANOUT) if regression(planned)][:kept]
    verdict = judge(play(qualifies=lambda planned: planned in wanted if regression(planned) else True))
    assert verdict.outcome == outcome
    assert verdict.regression == (kept, 4)


def test_without_mastered_problems_there_is_nothing_to_keep(play: Play, problems: ProblemSet) -> None:
    assert judge(play(manifest(problems))).outcome == "passed"


def test_a_lost_rollout_voids_a_round_that_could_have_passed(play: Play) -> None:
    verdict = judge(play(qualifies=lambda planned: None if planned.index == 3 else True))
    assert verdict.outcome == "void"
    assert "2 rollouts were lost to the infrastructure" in verdict.reasons[0]
    assert verdict.languages == {"python": (3, 3), "julia": (3, 3)}
    verdict = judge(play(qualifies=lambda planned: None if planned.index == 3 else planned.index < 2))
    assert verdict.outcome == "void"


def test_a_lost_rollout_does_not_save_a_round_that_could_not_pass(play: Play) -> None:
    verdict = judge(play(qualifies=lambda planned: None if planned.index == 3 else planned.index < 1))
    assert verdict.outcome == "failed"


@pytest.mark.parametrize(
    "kind", [RoundKind("explore", "live"), RoundKind("probe", "live"), RoundKind("canonical", "replay")]
)
def test_other_rounds_unlock_nothing(play: Play, problems: ProblemSet, kind: RoundKind) -> None:
    verdict = judge(play(manifest(problems, kind=kind), qualifies=lambda _: True))
    assert verdict.outcome == "void"
    assert "unlocks nothing" in verdict.reasons[0]


def test_a_language_that_was_not_there_cannot_be_left_out(play: Play, problems: ProblemSet) -> None:
    signature = replace(SIGNATURE, languages=("python", "julia", "javascript"))
    assert judge(play(manifest(problems, signature=signature))).outcome == "void"


def test_results_must_be_those_that_were_planned(play: Play) -> None:
    finished = play()
    with pytest.raises(DataError, match="is missing"):
        judge(replace(finished, rollouts=finished.rollouts[1:]))
    with pytest.raises(DataError, match="comes twice"):
        judge(replace(finished, rollouts=(*finished.rollouts, finished.rollouts[0])))
    other = replace(finished.rollouts[0], planned=replace(finished.rollouts[0].planned, index=99))
    with pytest.raises(DataError, match="not planned"):
        judge(replace(finished, rollouts=(*finished.rollouts, other)))


def test_the_default_is_six_of_eight(tmp_path: Path, problems: ProblemSet) -> None:
    fanout = FanoutSettings(["python", "julia"], 8, 3, 1, ["derive"])
    gate = GateSettings(6, 2, 0.75)
    for good, outcome in ((6, "passed"), (5, "failed")):
        made = manifest(problems, fanout=fanout, gate=gate)
        finished = played(tmp_path / str(good), problems, made, lambda planned, good=good: planned.index < good)
        assert judge(finished).outcome == outcome


def test_plans() -> None:
    plan = canonical_plan(5, (1, 2, 3, 4), FANOUT)
    assert len(plan) == 2 * 4 + 2 * 2 * 1
    assert {planned.problem for planned in plan if regression(planned)} == {3, 4}
    assert len({planned.key for planned in plan}) == len(plan)
    assert canonical_plan(5, (1, 2), replace(FANOUT, regression_problems=0)) == canonical_plan(5, (), FANOUT)
    assert {planned.strategy for planned in explore_plan(5, FANOUT)} == {"derive", "readable"}
    assert {planned.role for planned in probe_plan((7, 8), "future", FANOUT)} == {"future"}
