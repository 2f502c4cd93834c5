"""The attacks of `test_attacks` with one protection taken away: each then gets through, so those checks can fail."""

import os
import platform
import secrets
import signal
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import bubblewrap as module
from posttrain.euler.sandbox import command, pump
from posttrain.euler.sandbox.bubblewrap import Bubblewrap, BubblewrapWorkspace
from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.quick import CANARY, quick
from tests.euler.sandboxes import attack, living, outlives, python, skip_if_kept_off
from tests.euler.test_attacks import HOG, KEPT

ALLOW_ALL = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)
Change = Callable[[list[str]], list[str]]


@pytest.fixture
def sandbox(bubblewrap: Sandbox) -> Bubblewrap:
    return cast(Bubblewrap, bubblewrap)


def change_options(patch: pytest.MonkeyPatch, change: Change) -> None:
    options = command.options
    patch.setattr(command, "options", lambda root, seccomp_fd: change(options(root, seccomp_fd)))


def test_without_seccomp_the_calls_are_made(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "bpf", lambda: ALLOW_ALL)
    with sandbox.workspace() as workspace:
        outcome = quick(workspace, tmp_path).outcome
    refused_by_it = ("add_key", "keyctl", "ptrace", "unshare", "memfd_create", "shmget", "personality", "netlink")
    assert {outcome[name] for name in refused_by_it} == {"done"}, outcome
    assert outcome["clone3"] != "ENOSYS"
    assert outcome["unshare user"] == "ENOSPC"  # --disable-userns
    assert outcome["tcp"] == "ECONNREFUSED"  # the namespace alone still keeps it in


def test_with_the_hosts_network_everything_arrives(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "bpf", lambda: ALLOW_ALL)
    change_options(monkeypatch, lambda options: [*options, "--share-net"])
    with sandbox.workspace() as workspace:
        assert quick(workspace, tmp_path).arrived == ["tcp", "udp", "abstract"]


def test_without_the_second_mount_root_and_dev_are_written(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    change_options(monkeypatch, lambda options: [{"--remount-ro": "--dir"}.get(one, one) for one in options])
    with sandbox.workspace() as workspace:
        outcome = quick(workspace, tmp_path).outcome
    assert (outcome["write /x"], outcome["write /dev/x"]) == ("done", "done")


@pytest.mark.parametrize("bind", ["--ro-bind", "--bind"])
def test_a_folder_of_the_host_that_is_bound_is_read(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bind: str
) -> None:
    tmp_path.chmod(0o777)
    change_options(monkeypatch, lambda options: [*options, bind, str(tmp_path), str(tmp_path)])
    with sandbox.workspace() as workspace:
        found = quick(workspace, tmp_path)
    assert found.outcome[f"read {tmp_path / 'canary'}"] == "done"
    assert found.outcome["secret in a mount"] == "True"
    assert found.outcome["socket in a folder"] != "ENOENT"
    assert found.outcome[f"write {tmp_path / 'new'}"] == ("EROFS" if bind == "--ro-bind" else "done")


def test_bubblewraps_own_environment_would_show(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "PROGRAMS", {**module.PROGRAMS, "KEY": CANARY})
    with sandbox.workspace() as workspace:
        assert quick(workspace, tmp_path).outcome["secret in the environment"] == "True"


def test_options_on_the_command_line_would_show(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outer = command.outer

    def shown(inside: list[str], *rest: object) -> list[str]:
        words = outer(inside, *rest)  # type: ignore[arg-type]
        where = words.index("--args")
        return [*words[:where], "--ro-bind", "/usr", "/usr", *words[where:]]

    monkeypatch.setattr(command, "outer", shown)
    with sandbox.workspace() as workspace:
        assert quick(workspace, tmp_path).outcome["secret in a command"] == "True"


@pytest.mark.parametrize("kind", ["shared memory", "sockets"])
def test_without_the_watch_many_processes_have_it_all(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(module, "Watch", lambda *_: lambda: None)
    with sandbox.workspace() as workspace:
        done = python(workspace, HOG.replace("@KEPT@", KEPT[kind]))
        assert done.killed_by is None
        assert sum(name.startswith("had") for name in workspace.files().contents) == 10


def test_larger_limits_let_more_through(sandbox: Bubblewrap) -> None:
    large = replace(sandbox.limits, pids=100, workspace_inodes=10_000, workspace_bytes=1 << 30, output_bytes=1 << 20)
    with replace(sandbox, limits=large).workspace() as workspace:
        done = python(
            workspace,
            "import os, time\nfor n in range(3000): os.mkdir(f'/tmp/{n}')\n"
            "for n in range(60):\n    if os.fork() == 0:\n        time.sleep(0.5)\n        os._exit(0)\n"
            "for n in range(8): open(str(n), 'wb').write(b'x' * (8 << 20))\nprint('x' * 100000)",
        )
        assert (done.status, done.stderr, len(done.stdout), done.stdout_cut) == ("Finished", "", 100001, False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the workspace from outside")
def test_a_plain_read_from_outside_follows_the_link(sandbox: Bubblewrap) -> None:
    with sandbox.workspace() as workspace:
        assert isinstance(workspace, BubblewrapWorkspace)
        python(workspace, "import os\nos.symlink('/etc/passwd', 'answer')")
        left = Path(f"/proc/{workspace._holder}/root/mnt/workspace/answer")
        assert left.read_text() == Path("/etc/passwd").read_text()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
def test_ending_bubblewrap_alone_does_not_end_what_took_it_over(
    sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = f"7{secrets.randbelow(10**9):09d}"
    end = module._Run.end
    monkeypatch.setattr(pump, "_LAST_WORDS", 0.2)
    with sandbox.workspace() as workspace:
        skip_if_kept_off(python(workspace, "open('/proc/1/syscall').read(), open('/proc/1/mem', 'r+b', 0)"))
        monkeypatch.setattr(module._Run, "end", lambda run: run.child.process.kill())
        try:
            with pytest.raises(InfrastructureError, match="holds its output open"):
                attack(workspace, "take_over", wall=2.0, number=number)
            assert living(number)
        finally:
            monkeypatch.setattr(module._Run, "end", end)
            for pid in living(number):
                first = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                os.kill(first, signal.SIGKILL)
    assert not outlives(number)
