"""The scripts that rehearse a round, without Pi: what each does with a conversation."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from posttrain.euler.planned import CANONICAL, Planned
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.proxy.cases import BAD, FIVE, PROBLEM, SCRIPTS, case_of, cases
from posttrain.euler.proxy.completer import Seat
from posttrain.euler.proxy.scripted import Script, ScriptedCompleter, Step
from posttrain.euler.proxy.wire import Completion, Message, Request
from posttrain.euler.rehearse import EXPECTED
from tests.euler.fake_rounds import problem_set
from tests.project import ROOT

PLANNED = Planned(PROBLEM, "python", CANONICAL, "current", 0)


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> ProblemSet:
    return problem_set(tmp_path_factory.mktemp("problems"))


def replies(script: Script, said: Sequence[str], count: int) -> list[Completion]:
    """So many replies; after each, the next of what tools said."""
    completer, seat = ScriptedCompleter(lambda _: script, "m", "r"), Seat(PLANNED, 0)
    messages = [Message("user", said[0], ())]
    found = []
    for turn in range(count):
        found.append(asyncio.run(completer.complete(seat, Request(tuple(messages), (), None))))
        seat.turns += 1
        messages.append(Message("tool", said[min(turn + 1, len(said) - 1)], ()))
    return found


def test_steps_come_in_order_and_the_last_again() -> None:
    script = [Step("A", (("read", {"path": "é"}),)), lambda messages: Step(messages[-1].content)]
    one, two, three = replies(script, ["Hé", "seen"], 3)
    assert [(call.id, call.name, call.arguments) for call in one.calls] == [("call_0_0", "read", {"path": "é"})]
    assert (one.tokens_in, two.text, three.text, three.stop) == (3, "seen", "seen", "stop")


@pytest.mark.parametrize("name", ["python", "javascript", "julia"])
def test_the_solving_script_writes_a_program_for_the_problems_own_number(problems: ProblemSet, name: str) -> None:
    problem = problems.problems[PROBLEM]
    script = SCRIPTS["solving"](replace(PLANNED, language=name))
    wrote, ran, end = replies(script, [f"Problem:\n{problem.prompt}", "", str(problem.answer)], 3)
    content = wrote.calls[0].arguments["content"]
    assert str(problem.answer) not in content
    assert ran.calls[0].arguments["command"].split()[1] == wrote.calls[0].arguments["path"]
    assert f"\\boxed{{{problem.answer}}}" in end.text


def test_each_case_ends_and_those_that_tell_the_answer_know_it(problems: ProblemSet) -> None:
    problem = problems.problems[PROBLEM]
    for name, make in BAD.items():
        done = replies(make(PLANNED), [f"Problem:\n{problem.prompt}", "x", str(problem.answer)], 5)
        assert not done[-1].calls, name
        assert json.dumps([call.arguments for reply in done for call in reply.calls])
        assert str(problem.answer) in done[-1].text, name


def test_a_round_of_cases_has_each_of_them_and_too_few_that_solve_it() -> None:
    first = [case_of(replace(PLANNED, index=index)) for index in range(8)]
    assert sorted(first) == sorted({*BAD, "solving"})
    other = [case_of(replace(PLANNED, language="julia", index=index)) for index in range(8)]
    assert other.count("solving") == FIVE
    assert {*first, *other} == {*EXPECTED}
    assert all(cases(replace(PLANNED, index=index)) for index in range(8))


def test_no_script_is_in_what_agents_are_told() -> None:
    prompts = "".join(path.read_text() for path in (ROOT / "euler" / "prompts").rglob("*.md"))
    assert "cube" not in prompts
