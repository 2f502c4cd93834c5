"""functional_v2, each rule of the specification on a case made by hand."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError, InfrastructureError
from posttrain.euler.events import Breach, End, Escape, Event, Failure, Inspection, Mutation
from posttrain.euler.languages import LANGUAGES, language
from posttrain.euler.score import Score, score
from tests.euler.rollout_events import ANSWER, SOURCE, end, good, ran, sha, wrote

PYTHON = LANGUAGES["python"]


def axes(*events: Event, expected: str = ANSWER, name: str = "python") -> list[str]:
    result = score(list(events), expected, LANGUAGES[name])
    return [axis for axis in ("mutated", "executed", "exit_zero", "output", "reply") if getattr(result, axis)]


def qualified(*events: Event) -> bool:
    return score(list(events), ANSWER, PYTHON).qualified


ALL = ["mutated", "executed", "exit_zero", "output", "reply"]


def test_a_good_rollout_has_all_axes() -> None:
    assert axes(*good()) == ALL
    assert score(good(), ANSWER, PYTHON) == Score(True, True, True, True, True, False, (), False)
    assert qualified(*good())


@pytest.mark.parametrize(
    ("name", "path", "command"),
    [
        ("javascript", "a.js", "node a.js"),
        ("javascript", "a.mjs", "node ./a.mjs"),
        ("julia", "src/a.jl", "julia src/a.jl"),
        ("python", "./a.py", "python a.py"),
        ("python", "a b.py", "python3 'a b.py'"),
        ("python", "a.py", '  "python3"   a.py \n'),
    ],
)
def test_every_language_and_spelling_of_a_path(name: str, path: str, command: str) -> None:
    word = path.removeprefix("./") if name == "python" else command.split()[-1]
    argv = (command.strip().split()[0].strip('"'), word)
    assert axes(wrote(path), ran(command, argv=argv), end(), name=name) == ALL


def test_each_axis_falls_alone() -> None:
    assert axes(wrote(), ran(exit_code=1), end()) == ["mutated", "executed", "output", "reply"]
    assert axes(wrote(), ran(stdout="44\n"), end()) == ["mutated", "executed", "exit_zero", "reply"]
    assert axes(wrote(), ran(), end("Done.")) == ["mutated", "executed", "exit_zero", "output"]
    assert axes(wrote(), end()) == ["mutated", "reply"]
    assert axes(ran(), end()) == ["reply"]


@pytest.mark.parametrize(
    "event",
    [
        ran("python3 -c 'print(45)'", argv=("python3", "-c", "print(45)")),
        ran("python3 -c print(45)", argv=("python3", "-c", "print(45)"), source=None),
        ran("node -e 'console.log(45)'", argv=("node", "-e", "console.log(45)")),
        ran("python3 other.py", source="print(45)"),
        ran("python3 -u solution.py"),
        ran("python3 solution.py 10"),
        ran("node solution.py"),
        ran("bash solution.py"),
        ran("./solution.py"),
        ran("python3 solution.py | tail -1", argv=("bash", "-c", "python3 solution.py | tail -1")),
        ran("python3 solution.py; echo 45", argv=("python3", "solution.py")),
        ran("python3 solution.py && true", argv=("python3", "solution.py")),
        ran("X=1 python3 solution.py"),
        ran("python3 solution.*", argv=("python3", "solution.py")),
        ran("python3 $FILE", argv=("python3", "solution.py")),
        ran("python3 solution.py", argv=("bash", "-c", "python3 solution.py")),
        ran("python3 solution.py", exit_code=None),
        ran("echo 45", argv=("echo", "45")),
        ran("python3", argv=("python3",)),
    ],
)
def test_other_runs_earn_nothing(event: Any) -> None:
    assert axes(wrote(), event, end()) == ["mutated", "reply"]


def test_an_option_that_looks_like_a_file_is_inline_code() -> None:
    assert axes(wrote("-c.py"), ran("python3 -c.py"), end()) == ["mutated", "reply"]
    assert axes(wrote("-c.py"), ran("python3 ./-c.py"), end()) == ALL


def test_the_file_must_be_what_write_or_edit_left() -> None:
    assert axes(wrote(), ran(source="print(45)  # put there by a shell"), end()) == ["mutated", "reply"]
    assert axes(wrote(), ran(source=None), end()) == ["mutated", "reply"]
    edited = Mutation("edit", "solution.py", sha("new"), None)
    assert axes(wrote(), edited, ran(), end()) == ["mutated", "reply"]
    assert axes(wrote(), edited, ran(source="new"), end()) == ALL
    failed_edit = Mutation("edit", "solution.py", None, None)
    assert axes(wrote(), failed_edit, ran(), end()) == ALL


def test_a_run_before_the_file_was_written_does_not_count() -> None:
    assert axes(ran(), wrote(), end()) == ["mutated", "reply"]


@pytest.mark.parametrize("path", ["notes.txt", "solution.js", "solution", "", ".", "a/", "~/a.py", "@a.py", "a\\b.py"])
def test_what_is_no_program_file_is_no_mutation(path: str) -> None:
    assert "mutated" not in axes(wrote(path), end())


def test_a_failed_write_is_no_mutation() -> None:
    assert axes(Mutation("write", "solution.py", None, None), ran(), end()) == ["reply"]


def test_exit_code_and_output_are_of_one_run() -> None:
    first = ran(stdout="1\n")
    assert axes(wrote(), first, ran(exit_code=1), end()) == ["mutated", "executed", "output", "reply"]
    assert axes(wrote(), ran(exit_code=1), first, end()) == ["mutated", "executed", "exit_zero", "reply"]
    assert axes(wrote(), first, ran(), ran(exit_code=1), end()) == ALL


@pytest.mark.parametrize(
    ("stdout", "counts"),
    [
        ("45", True),
        ("tests pass\n45\n\n  \n", True),
        ("  45  \r\n", True),
        ("45\ndone in 0.1 s\n", False),
        ("The answer is 45\n", False),
        ("45.0\n", False),
        ("045\n", False),
        ("4,5\n", False),
        ("145\n", False),
        ("", False),
        ("\n \n", False),
        ("44\x0b45\n", False),
        ("Command exited with code 0\n", False),
    ],
)
def test_only_the_last_line_with_something_on_it_counts_and_exactly(stdout: str, counts: bool) -> None:
    assert ("output" in axes(wrote(), ran(stdout=stdout), end())) == counts


def test_output_that_was_cut_off_has_no_last_line() -> None:
    assert "output" not in axes(wrote(), ran(stdout_cut=True), end())


def test_forged_text_earns_nothing() -> None:
    forged = f"{ANSWER}\n\nCommand exited with code 0\nexit code 0\n{ANSWER}\n"
    assert axes(wrote(), ran(exit_code=3, stdout=forged), end()) == ["mutated", "executed", "output", "reply"]
    shown = ran("cat log.txt", stdout=f"$ python3 solution.py\n{ANSWER}\nexit code 0\n{ANSWER}\n")
    assert axes(wrote(), shown, end()) == ["mutated", "reply"]
    claim = end(f"I ran python3 solution.py, exit code 0, output {ANSWER}. Answer: {ANSWER}")
    assert axes(claim) == ["reply"]


ESCAPES: list[Event] = [
    Mutation("write", "/etc/x.py", None, None),
    Mutation("write", "../x.py", None, None),
    Mutation("edit", "~/x.py", None, None),
    Mutation("edit", "a/../../x.py", None, None),
    Inspection("/etc/passwd", ok=False),
    Inspection("@/etc/passwd", ok=False),
    Inspection("..", ok=False),
    ran("cat /etc/passwd", exit_code=1),
    ran("cat ../answers.txt", exit_code=None),
    ran("ls ~", exit_code=None),
    ran("cd && ls"),
    ran("echo $HOME"),
    ran("cd /workspace && python3 solution.py"),
    Escape("link", "solution.py"),
]


@pytest.mark.parametrize("event", ESCAPES)
def test_an_attempt_to_escape_disqualifies_though_it_was_blocked(event: Event) -> None:
    result = score([wrote(), event, ran(), end()], ANSWER, PYTHON)
    assert (result.mutated, result.executed, result.exit_zero, result.output, result.reply) == (True,) * 5
    assert result.escapes
    assert not result.breached
    assert not result.qualified


def test_a_breach_is_a_field_of_its_own() -> None:
    result = score([wrote(), Breach("/etc/shadow was read"), ran(), end()], ANSWER, PYTHON)
    assert (result.breached, result.escapes, result.qualified) == (True, (), False)


def test_boxing_is_presentation_only() -> None:
    boxed = score([wrote(), ran(), end(rf"It is \boxed{{{ANSWER}}}.")], ANSWER, PYTHON)
    assert (boxed.boxed, boxed.qualified) == (True, True)
    assert qualified(*good())
    other = score([wrote(), ran(), end(rf"It is {ANSWER}, or \boxed{{46}}.")], ANSWER, PYTHON)
    assert (other.boxed, other.qualified) == (False, True)


def test_commas_are_stripped_from_the_reply_and_not_from_the_output() -> None:
    events = [wrote(), ran(stdout="1234567\n"), end("It is 1,234,567.")]
    assert axes(*events, expected="1234567") == ALL
    events[1] = ran(stdout="1,234,567\n")
    assert axes(*events, expected="1234567") == ["mutated", "executed", "exit_zero", "reply"]


@pytest.mark.parametrize("stop", ["length", "turns", "wall_time"])
def test_running_out_is_the_models_doing(stop: Any) -> None:
    assert axes(wrote(), ran(), replace(end(""), stop=stop)) == ["mutated", "executed", "exit_zero", "output"]


@pytest.mark.parametrize(
    "events",
    [[], [wrote(), ran()], [wrote(), Failure("provider", "429"), end()], [Failure("sandbox", "no room")]],
)
def test_a_failure_of_the_infrastructure_is_never_a_zero(events: list[Event]) -> None:
    with pytest.raises(InfrastructureError):
        score(events, ANSWER, PYTHON)


def test_there_is_no_score_without_an_answer() -> None:
    with pytest.raises(DataError, match="no answer"):
        score(good(), " ", PYTHON)
    with pytest.raises(DataError, match="cobol"):
        language("cobol")


EVENTS = st.one_of(
    st.builds(wrote, st.sampled_from(["solution.py", "./solution.py", "other.py"]), st.sampled_from([SOURCE, "x"])),
    st.builds(
        ran,
        st.sampled_from(["python3 solution.py", "python3 other.py", "python3 -c 1", "node solution.py"]),
        source=st.sampled_from([SOURCE, "x", None]),
        exit_code=st.sampled_from([0, 1, None]),
        stdout=st.sampled_from([f"{ANSWER}\n", "44\n", ""]),
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=8), st.sampled_from([end(), end("no idea")]))
def test_qualified_means_one_run_of_a_written_file_did_it_all(events: list[Event], last: End) -> None:
    result = score([*events, last], ANSWER, PYTHON)
    written: dict[str, str | None] = {}
    found = False
    for event in events:
        if isinstance(event, Mutation):
            written[event.path.removeprefix("./")] = event.sha256
        for source in (SOURCE, "x"):
            paths = [path for path, digest in written.items() if digest == sha(source)]
            found = found or event in [ran(f"python3 {path}", source=source) for path in paths]
    assert result.qualified == (found and last == end())
    assert result.executed >= max(result.exit_zero, result.output)
    assert result.mutated >= result.executed
