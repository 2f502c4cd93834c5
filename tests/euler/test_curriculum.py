from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.euler.curriculum import State, apply, begin, next_problem
from posttrain.euler.gate import Outcome, Verdict
from posttrain.euler.manifest import VERSION, Manifest, RoundKind
from posttrain.euler.plan import canonical_plan
from posttrain.euler.problems import Availability, Problem, Resource
from posttrain.euler.rounds import Round
from posttrain.euler.settings import FanoutSettings
from posttrain.euler.signature import ModelSignature
from tests.euler.fake_rounds import FANOUT, GATE, LIVE, SIGNATURE

IDS = count()


def sampled(
    state: State, kind: RoundKind = LIVE, signature: ModelSignature = SIGNATURE, fanout: FanoutSettings = FANOUT
) -> Round:
    """A round for the state; what its rollouts did is in the verdict that the test gives."""
    plan = canonical_plan(state.current, [each.problem for each in state.mastered], fanout)
    made = Manifest(
        version=VERSION,
        nonce="",
        kind=kind,
        problem=state.current,
        problem_set=state.problem_set,
        problems_sha256="",
        tasks={str(planned.problem): f"task {planned.problem}" for planned in plan},
        trained_on=(),
        signature=signature,
        fanout=fanout,
        gate=GATE,
        plan=tuple(plan),
        started="",
    )
    return Round(f"round {next(IDS)}", made, ())


def verdict(outcome: Outcome) -> Verdict:
    return Verdict(outcome, (), {}, (0, 0))


PASSED, FAILED, VOID = verdict("passed"), verdict("failed"), verdict("void")


def after(state: State, *verdicts: Verdict) -> State:
    for each in verdicts:
        state = apply(state, sampled(state), each)[0]
    return state


def test_two_consecutive_passes_unlock_the_next_problem() -> None:
    start = begin("generated-0")
    assert (start.current, start.highest_mastered, start.passes) == (1, 0, ())
    once, change = apply(start, sampled(start), PASSED)
    assert (once.current, once.highest_mastered, len(once.passes), change) == (1, 0, 1, "counted")
    twice, change = apply(once, sampled(once), PASSED)
    assert (twice.current, twice.highest_mastered, twice.passes, change) == (2, 1, (), "unlocked")
    assert twice.mastered[0].problem == 1
    assert twice.mastered[0].rounds == (once.passes[0], twice.applied[-1].round)
    assert twice.mastered[0].signature == SIGNATURE.digest


def test_a_failed_round_breaks_the_row() -> None:
    state = after(begin("g"), PASSED, FAILED)
    assert (state.current, state.passes) == (1, ())
    assert after(state, PASSED).current == 1
    assert after(state, PASSED, PASSED).current == 2


def test_a_void_round_changes_nothing_and_is_remembered() -> None:
    state = after(begin("g"), PASSED)
    void, change = apply(state, sampled(state), VOID)
    assert (void.passes, void.current, change) == (state.passes, 1, "unchanged")
    assert [each.outcome for each in void.applied] == ["passed", "void"]
    assert after(void, PASSED).current == 2


def test_the_same_round_counts_once() -> None:
    start = begin("g")
    round_ = sampled(start)
    state, _ = apply(start, round_, PASSED)
    again, change = apply(state, round_, PASSED)
    assert (again, change) == (state, "unchanged")
    second = sampled(state)
    unlocked, _ = apply(state, second, PASSED)
    assert apply(unlocked, second, PASSED) == (unlocked, "unchanged")
    assert apply(unlocked, round_, PASSED) == (unlocked, "unchanged")


CHANGED = [
    replace(SIGNATURE, model="other"),
    replace(SIGNATURE, revision="r2"),
    replace(SIGNATURE, provider="other"),
    replace(SIGNATURE, thinking="high"),
    replace(SIGNATURE, sampling={"temperature": "0"}),
    replace(SIGNATURE, languages=("julia", "python")),
    replace(SIGNATURE, scorer_sha256="x"),
    replace(SIGNATURE, evaluator_sha256="x"),
    replace(SIGNATURE, prompts_sha256="x"),
    replace(SIGNATURE, tools_sha256="x"),
]


@pytest.mark.parametrize("signature", CHANGED)
def test_another_signature_begins_the_row_anew(signature: ModelSignature) -> None:
    state = after(begin("g"), PASSED)
    state, change = apply(state, sampled(state, signature=signature), PASSED)
    assert (state.current, len(state.passes), change) == (1, 1, "counted")
    back = apply(state, sampled(state), PASSED)[0]
    assert (back.current, len(back.passes)) == (1, 1)
    assert apply(state, sampled(state, signature=signature), PASSED)[0].current == 2


def test_another_gate_fanout_or_problem_begins_the_row_anew() -> None:
    state = after(begin("g"), PASSED)
    easier = sampled(state)
    easier = replace(easier, manifest=replace(easier.manifest, gate=replace(GATE, required=1)))
    other_task = sampled(state)
    other_task = replace(other_task, manifest=replace(other_task.manifest, tasks={"1": "another text"}))
    for round_ in (easier, other_task, sampled(state, fanout=replace(FANOUT, rollouts=5))):
        assert len(apply(state, round_, PASSED)[0].passes) == 1


@pytest.mark.parametrize(
    "kind", [RoundKind("explore", "live"), RoundKind("probe", "live"), RoundKind("canonical", "replay")]
)
@pytest.mark.parametrize("outcome", [PASSED, FAILED, VOID])
def test_explored_and_replayed_rounds_never_move_anything(kind: RoundKind, outcome: Verdict) -> None:
    state = after(begin("g"), PASSED)
    assert apply(state, sampled(state, kind=kind), outcome) == (state, "unchanged")


def test_a_round_of_another_state_is_refused() -> None:
    start = begin("g")
    early, second = sampled(start), after(start, PASSED, PASSED)
    with pytest.raises(DataError, match="the round is at problem 1, and the climb at 2"):
        apply(second, early, PASSED)
    with pytest.raises(DataError, match="state file of its own"):
        apply(begin("h"), sampled(start), PASSED)
    easy = sampled(second)
    easy = replace(easy, manifest=replace(easy.manifest, plan=easy.manifest.plan[:-1]))
    with pytest.raises(DataError, match="plan is not what its settings ask for"):
        apply(second, easy, PASSED)
    changed = sampled(second)
    changed = replace(changed, manifest=replace(changed.manifest, tasks={"1": "other", "2": "task 2"}))
    with pytest.raises(DataError, match="problem 1 is not the one that was mastered"):
        apply(second, changed, PASSED)
    untold = replace(sampled(second), manifest=replace(sampled(second).manifest, tasks={"2": "task 2"}))
    with pytest.raises(DataError, match="does not say what problem 1 was"):
        apply(second, untold, PASSED)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([PASSED, FAILED, VOID]), max_size=12))
def test_the_frontier_is_the_number_of_pairs_of_passes(verdicts: list[Verdict]) -> None:
    state = after(begin("g"), *verdicts)
    row, mastered = 0, 0
    for each in verdicts:
        if each is not VOID:
            row = row + 1 if each is PASSED else 0
        if row == 2:
            row, mastered = 0, mastered + 1
    assert (state.highest_mastered, state.current, len(state.passes)) == (mastered, mastered + 1, row)
    assert [each.problem for each in state.mastered] == list(range(1, mastered + 1))


def problem(availability: Availability, *resources: Resource) -> Problem:
    return Problem(1, "Text", "5", availability, resources, None)


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (problem(Availability.NO_PROMPT), "its text is missing"),
        (problem(Availability.NO_ANSWER), "its answer is missing"),
        (problem(Availability.CONFLICT), "contradict each other"),
        (
            problem(Availability.NO_RESOURCE, Resource("w.txt", "document", "w.txt", None)),
            r"put 1/w\.txt into the folder problems\.supplied",
        ),
    ],
)
def test_an_unavailable_problem_stops_the_climb_with_what_to_supply(found: Problem, what: str) -> None:
    with pytest.raises(DataError, match=f"stops at problem 1: .*{what}"):
        next_problem(begin("g"), {1: found, 2: problem(Availability.AVAILABLE)})


def test_no_problem_is_skipped_and_the_end_is_told() -> None:
    one = problem(Availability.AVAILABLE)
    assert next_problem(begin("g"), {1: one}) == one
    with pytest.raises(DataError, match="stops at problem 1: its text is missing"):
        next_problem(begin("g"), {2: one})
    with pytest.raises(DataError, match="all 1 problems are mastered"):
        next_problem(after(begin("g"), PASSED, PASSED), {1: one})
