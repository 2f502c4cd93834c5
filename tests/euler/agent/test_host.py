"""The host's side of an agent's tools, over a real workspace and without Pi."""

import base64
import threading
import time
from collections.abc import Iterator

import pytest

from posttrain.euler.agent.host import PLACE, Stopped
from posttrain.euler.event_log import event_line, parse_events
from posttrain.euler.events import End, Escape, Execution, Inspection, Mutation
from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.agent.hosts import TURNS, Asking, asking, sha

SOURCE = "import sys\nprint(41 + 1)\nprint('no', file=sys.stderr)\nsys.exit(3)\n"


@pytest.fixture(scope="module")
def shared(bubblewrap: Sandbox) -> Iterator[Asking]:
    """A host whose files and events the tests share: each looks at the last of them."""
    with asking(bubblewrap, 300) as one:
        yield one


def test_a_write_an_edit_a_read_and_a_run_are_seen_as_they_happened(bubblewrap: Sandbox) -> None:
    with asking(bubblewrap) as one:
        wrote = one.write("a/main.py", SOURCE)
        edit = one.begin("edit", path="./a//main.py", edits=[])
        read = one.ask("read", call=edit, path=PLACE + "a/main.py")
        edited = base64.b64decode(read["content"]).decode().replace("41", "42")
        one.ask("write", call=edit, path=PLACE + "a/main.py", content=edited)
        ran = one.bash("python3 a/main.py")
        assert one.read("a/main.py")["host"] == {"event": 3, "kind": "inspection", "path": "a/main.py", "ok": True}
        events = one.host.events
    assert wrote["host"] == {
        "event": 0,
        "kind": "mutation",
        "tool": "write",
        "path": "a/main.py",
        "sha256": sha(SOURCE),
    }
    run = events[2]
    assert isinstance(run, Execution)
    assert events == [
        Mutation("write", "a/main.py", sha(SOURCE), SOURCE),
        Mutation("edit", "./a//main.py", sha(edited), edited),
        Execution("python3 a/main.py", ("python3", "a/main.py"), 3, sha(edited), "43\n", False, run.seconds),
        Inspection("a/main.py", ok=True),
    ]
    assert (ran["output"], ran["exit_code"], ran["timed_out"]) == ("43\nno\n", 3, 0)
    assert "stdout" not in ran["host"]


@pytest.mark.parametrize("tool", ["read", "write", "edit"])
@pytest.mark.parametrize(
    ("path", "rule"),
    [("/etc/passwd", "absolute"), ("~/x.py", "home"), ("a/../../x", "parent"), ("@/etc/passwd", "absolute")],
)
def test_a_path_that_leads_out_is_refused_and_written_down(shared: Asking, tool: str, path: str, rule: str) -> None:
    seen = shared.refused(tool, path)
    assert shared.host.events[-1] == Escape(rule, path)  # type: ignore[arg-type]
    assert seen["host"]["kind"] == "escape"
    assert "error" in shared.ask("read", call=path, path=path)
    assert "error" in shared.ask("write", call=path, path=PLACE + "x", content="other")
    assert shared.host.events[-1] == Escape(rule, path)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["", ".", "a/", "a\0b.py", "a\nb", "a\\b", "a/."])
def test_a_name_that_is_no_files_is_refused_as_a_failed_call(shared: Asking, path: str) -> None:
    shared.refused("write", path)
    assert shared.host.events[-1] == Mutation("write", path, None, None)
    shared.refused("read", path)
    assert shared.host.events[-1] == Inspection(path, ok=False)


@pytest.mark.parametrize(
    ("path", "why"), [("x" * 300, "shorter"), ("taken/b.py", "cannot be written"), ("folder", "cannot be written")]
)
def test_a_file_that_cannot_be_made_is_a_failed_write(shared: Asking, path: str, why: str) -> None:
    shared.bash("mkdir -p folder/in; echo > taken")
    answer = shared.write(path, "x")
    assert why in answer["error"]
    assert shared.host.events[-1] == Mutation("write", path, None, None)


def test_links_and_pipes_are_not_read(shared: Asking) -> None:
    shared.bash("ln -sf /etc/passwd link.py; mkfifo -m 666 pipe.py; rm -f gone")
    for name in ("link.py", "pipe.py", "gone"):
        assert "error" in shared.read(name)
        assert shared.host.events[-1] == Inspection(name, ok=False)
    assert shared.bash("python3 link.py")["host"]["sha256"] is None


def test_an_operation_on_another_file_than_the_call_names_is_refused(shared: Asking) -> None:
    call = shared.begin("write", path="a\u00a0b.py", content="x")
    assert "simpler name" in shared.ask("write", call=call, path=PLACE + "a b.py", content="x")["error"]
    shared.ask("result", call=call)
    assert shared.host.events[-1] == Mutation("write", "a\u00a0b.py", None, None)


def test_half_surrogates_become_question_marks_and_the_events_stay_readable(shared: Asking) -> None:
    assert "host" in shared.write("s.py", "print('\ud800')")
    assert shared.host.events[-1] == Mutation("write", "s.py", sha("print('?')"), "print('?')")
    assert shared.bash("echo \udfff")["output"] == "?\n"
    shared.begin("write", path="\ud83d.py")
    lines = [*map(event_line, [*shared.host.events, End("stop", "\ud83d", 0, 0, 0.0)])]
    assert len(parse_events("".join(lines).encode(), "log")) == len(lines)


def test_a_command_that_cannot_be_started_is_the_models_own_failure(shared: Asking) -> None:
    assert "zero byte" in shared.bash("echo a\0b")["error"]
    for command in ("true; " + "x" * 140_000, "cat > b.py <<END\n" + "y = 1\n" * 50_000 + "END"):
        assert "too long" in shared.bash(command)["error"]
        assert shared.host.events[-1] == Execution(command, ("bash", "-c", command), None, None, "", False, 0.0)
    assert shared.bash("nothing-of-that-name x")["exit_code"] == 127
    assert shared.bash("''")["exit_code"] == 127
    assert shared.bash("")["exit_code"] == 0
    assert shared.bash("echo still here")["output"] == "still here\n"


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("python3 'm a.py'", ("python3", "m a.py")),
        ("python3 m.py; true", ("bash", "-c", "python3 m.py; true")),
        ("X=1 python3 m.py", ("bash", "-c", "X=1 python3 m.py")),
    ],
)
def test_argv_is_what_was_started(shared: Asking, command: str, argv: tuple[str, ...]) -> None:
    shared.bash(command)
    run = shared.host.events[-1]
    assert isinstance(run, Execution)
    assert (run.command, run.argv, run.sha256) == (command, argv, None)


def test_a_flood_is_cut_and_ended_and_says_so(shared: Asking) -> None:
    shared.write("flood.py", "while True: print('x' * 1000)\n")
    answer = shared.bash("python3 flood.py")
    run = shared.host.events[-1]
    assert isinstance(run, Execution)
    assert run.stdout_cut
    assert answer["exit_code"] != 0
    assert answer["output"].startswith("[only a part of the output is shown]\n")
    assert "it passed the limit on output_bytes" in answer["output"]
    assert len(answer["output"].encode()) < 50 * 1024


def test_a_large_program_is_hashed_and_its_text_not_kept(shared: Asking) -> None:
    text = "# " + "x" * 300_000
    shared.write("large.py", text)
    assert shared.host.events[-1] == Mutation("write", "large.py", sha(text), None)


def test_a_command_is_ended_by_its_own_timeout(shared: Asking) -> None:
    started = time.monotonic()
    answer = shared.bash("sleep 30", timeout=1)
    assert (answer["timed_out"], answer["exit_code"]) == (1, 137)
    assert time.monotonic() - started < 5
    assert shared.bash("echo on")["output"] == "on\n"
    assert shared.bash("true", timeout=-1)["exit_code"] == 0


def test_a_command_never_outlasts_the_agents_own_time(bubblewrap: Sandbox) -> None:
    with asking(bubblewrap, seconds=1.5) as one:
        assert one.ask("system_prompt") == {"text": "the system prompt"}
        started, call = time.monotonic(), one.begin("bash", command="sleep 30")
        assert one.ask("run", call=call, command="sleep 30", timeout=None)["timed_out"] >= 1
        assert time.monotonic() - started < 5
        with pytest.raises(Stopped) as stopped:
            one.ask("result", call=call)
    assert stopped.value.why == "wall_time"
    assert isinstance(one.host.events[-1], Execution)


def test_one_turn_more_than_the_limit_is_stopped(bubblewrap: Sandbox) -> None:
    with asking(bubblewrap) as one:
        for _ in range(TURNS):
            assert one.ask("turn") == {}
            assert not one.clock.running
            assert one.ask("turn_over") == {}
            assert one.clock.running
        with pytest.raises(Stopped) as stopped:
            one.ask("turn")
    assert (stopped.value.why, one.host.turns) == ("turns", TURNS)


def test_time_in_which_the_provider_is_waited_for_is_not_the_agents(bubblewrap: Sandbox) -> None:
    with asking(bubblewrap, seconds=0.6) as one:
        one.ask("turn")
        time.sleep(0.8)
        assert one.ask("turn_over") == {}
        time.sleep(0.8)
        with pytest.raises(Stopped, match="wall_time"):
            one.ask("turn")


def test_calls_side_by_side_are_told_apart(bubblewrap: Sandbox) -> None:
    """Pi runs ours one after the other; if it ever does not, events and answers still belong together."""
    with asking(bubblewrap) as one:
        calls = [one.begin("bash", command=f"echo {number}") for number in range(6)]
        answers: dict[str, str] = {}

        def run(call: str, number: int) -> None:
            answers[call] = one.ask("run", call=call, command=f"echo {number}", timeout=None)["output"]

        threads = [threading.Thread(target=run, args=(call, number)) for number, call in enumerate(calls)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answers[call] for call in calls] == [f"{number}\n" for number in range(6)]
        for number, call in enumerate(calls):
            assert one.ask("result", call=call)["host"]["command"] == f"echo {number}"
