"""Programs in bubblewrap: what they get, what comes back, and what is whose fault."""

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import bubblewrap as module
from posttrain.euler.sandbox import command
from posttrain.euler.sandbox.protocol import RefusedFile, Sandbox, Status
from tests.euler.sandboxes import living, need_bubblewrap, open_to_all, outlives, python


def test_a_program_gets_its_words_its_input_and_a_small_environment(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        words = [
            "python3",
            "-c",
            "import os, sys; print(sys.argv[1:], sys.stdin.read(), sorted(os.environ))",
            "a b",
            "",
        ]
        done = workspace.run(words, stdin=b"x" * 200_000)
    assert done.stdout.startswith("['a b', ''] xxx")
    assert done.stdout_cut
    with bubblewrap.workspace() as workspace:
        done = workspace.run(["env"])
    assert {line.partition("=")[0] for line in done.stdout.splitlines()} == {"HOME", "LANG", "PATH", "PWD", "TMPDIR"}


@pytest.mark.parametrize(
    ("argv", "status", "exit_code"),
    [
        (["true"], Status.FINISHED, 0),
        (["sh", "-c", "exit 7"], Status.ERROR, 7),
        (["sh", "-c", "kill -9 $$"], Status.ERROR, 137),
        (["sh", "-c", "kill -TERM $$"], Status.ERROR, 143),
        (["no-such-program"], Status.ERROR, 127),
        (["/workspace"], Status.ERROR, 126),
        (["--version"], Status.ERROR, 127),
    ],
)
def test_how_a_program_ends_is_its_own_doing(
    bubblewrap: Sandbox, argv: list[str], status: Status, exit_code: int
) -> None:
    with bubblewrap.workspace() as workspace:
        done = workspace.run(argv)
    assert (done.status, done.exit_code, done.killed_by) == (status, exit_code, None)


def test_a_program_that_reads_nothing_ends_all_the_same(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        assert workspace.run(["true"], stdin=b"x" * 1_000_000).status is Status.FINISHED
        assert workspace.run(["sh", "-c", "exec <&-; sleep 0.2"], stdin=b"x" * 1_000_000).status is Status.FINISHED


def test_output_that_is_no_text_comes_back_marked(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        done = workspace.run(["printf", r"a\377\0b"])
    assert done.stdout == "a\ufffd\0b"


def test_files_stay_between_programs_and_end_with_the_workspace(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        workspace.write("./a/main.py", b"open('/tmp/x', 'w').write('kept'); print(open('b', 'rb').read())")
        workspace.write("b", bytes(range(256)) * 1000)
        workspace.write("b", b"\xff\0")
        assert workspace.run(["python3", "a/main.py"]).stdout == "b'\\xff\\x00'\n"
        assert workspace.run(["cat", "/tmp/x"]).stdout == "kept"
        assert workspace.files().contents.keys() == {"a/main.py", "b"}
    with bubblewrap.workspace() as workspace:
        assert workspace.files().contents == {}
        assert workspace.run(["cat", "/tmp/x"]).exit_code == 1


def test_what_cannot_be_written_is_refused(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        workspace.run(["sh", "-c", "mkdir folder; echo > folder/x; echo > file; ln -s /usr link; mkfifo pipe"])
        for path in ("folder", "file/x", "link/x"):
            with pytest.raises(RefusedFile, match="cannot be written"):
                workspace.write(path, b"x")
        with pytest.raises(RefusedFile, match="cannot be written"):
            workspace.write("large", b"x" * (9 << 20))
        workspace.write("pipe", b"replaced")
        assert workspace.read("pipe") == b"replaced"


def test_two_programs_in_one_workspace_wait_for_each_other_and_two_workspaces_do_not(bubblewrap: Sandbox) -> None:
    clock = ["sh", "-c", "date +%s%N; sleep 0.4; date +%s%N"]
    with bubblewrap.workspace() as one, bubblewrap.workspace() as other, ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda workspace: workspace.run(clock), [one, one, other]))
    first, second, third = ([int(line) for line in done.stdout.split()] for done in results)
    assert first[1] < second[0] or second[1] < first[0]
    assert any(third[0] < each[1] and each[0] < third[1] for each in (first, second))


def test_a_time_limit_can_be_shortened_for_one_program(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        done = workspace.run(["sleep", "60"], wall_seconds=0.3)
        assert (done.status, done.exit_code, done.killed_by) == (Status.TIME_LIMIT, 137, "wall_seconds")
        assert 0.3 <= done.wall_seconds < 5


def test_the_receipt_says_what_held_the_program(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        receipt = workspace.run(["true"]).receipt
    assert (receipt.kind, receipt.image, receipt.container) == ("bubblewrap", None, None)
    assert {"wall_seconds", "memory_bytes", "pids", "workspace_inodes", "network", "syscalls"} <= set(
        receipt.enforced_by
    )


@pytest.mark.parametrize(
    ("broken", "match"),
    [(["--bind", "/no/such/folder", "/x"], "no/such/folder"), (["--no-such-option"], "no-such-option")],
)
def test_a_sandbox_that_does_not_start_is_no_result(
    bubblewrap: Sandbox, monkeypatch: pytest.MonkeyPatch, broken: list[str], match: str
) -> None:
    options = command.options
    with bubblewrap.workspace() as workspace:
        monkeypatch.setattr(command, "options", lambda *given: [*options(*given), *broken])
        with pytest.raises(InfrastructureError, match=match):
            workspace.run(["true"])
        monkeypatch.setattr(command, "options", options)
        assert workspace.run(["true"]).status is Status.FINISHED


def test_a_filter_that_the_kernel_refuses_is_no_result(bubblewrap: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "bpf", lambda: b"\0" * 8)
    with bubblewrap.workspace() as workspace, pytest.raises(InfrastructureError, match="did not start"):
        workspace.run(["true"])


def test_a_workspace_without_a_kernel_that_allows_it_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from posttrain.euler.sandbox import holder

    sandbox = need_bubblewrap()
    monkeypatch.setattr(holder, "PLACE", "/no/such/folder")
    with pytest.raises(InfrastructureError, match="no workspace can be made"), sandbox.workspace():
        pass


def test_programs_come_from_another_root(bubblewrap: Sandbox, tmp_path: Path) -> None:
    from tests.euler.rootfs import build

    root = build(tmp_path / "root")
    open_to_all(tmp_path)
    (root / "usr/bin/only-here").write_text("#!/bin/sh\necho here")
    (root / "usr/bin/only-here").chmod(0o755)
    with replace(bubblewrap, root=root).workspace() as workspace:  # type: ignore[type-var]
        assert workspace.run(["only-here"]).stdout == "here\n"
        assert workspace.run(["node", "--version"]).exit_code == 127


def test_node_starts_under_the_memory_limits(bubblewrap: Sandbox) -> None:
    with bubblewrap.workspace() as workspace:
        if workspace.run(["node", "--version"]).exit_code == 127:
            pytest.skip("node: not installed in /usr")
        done = workspace.run(["node", "-e", "console.log([...Array(100000).keys()].reduce((a, b) => a + b))"])
        assert done.stdout == "4999950000\n", done


def test_nothing_is_left_when_this_program_is_killed(bubblewrap: Sandbox) -> None:
    del bubblewrap  # it works, or this is skipped
    number = "6543210987"
    source = (
        "from tests.euler.sandboxes import need_bubblewrap, python\n"
        f"with need_bubblewrap().workspace() as w: w.run(['sh', '-c', 'sleep {number} & sleep {number}'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", source])
    deadline = time.monotonic() + 20
    while len(living(f"sleep\0{number}")) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(living(f"sleep\0{number}")) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not outlives(f"sleep\0{number}")


def test_an_interrupted_run_leaves_nothing(bubblewrap: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    threads = threading.active_count()
    with bubblewrap.workspace() as workspace:
        with monkeypatch.context() as patch:
            patch.setattr(module, "Watch", lambda *_: interrupt)
            with pytest.raises(KeyboardInterrupt):
                workspace.run(["sleep", "6543210988"])
        assert not outlives("6543210988")
        assert python(workspace, "print(1)").stdout == "1\n"
    assert threading.active_count() == threads
