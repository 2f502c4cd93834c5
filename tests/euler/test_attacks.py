"""What a hostile program tries, in every sandbox that works here; `test_open_holes` shows that the checks can fail."""

import platform
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from posttrain.euler.sandbox.protocol import RefusedFile, Sandbox, Status, Workspace
from tests.euler.quick import CANARY, Quick, quick
from tests.euler.sandboxes import MIB, assert_works, attack, opened, outlives, python, skip_if_kept_off
from tests.project import ROOT


@pytest.fixture(scope="module")
def found(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quick]:
    """What came of everything that one call decides, tried by one program."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for name in ("POSTTRAIN_SECRET", "TINKER_API_KEY", "http_proxy", "HTTPS_PROXY"):
            patch.setenv(name, f"http://user:{CANARY}@127.0.0.1:9")
        workspace = stack.enter_context(opened(sandbox))
        yield quick(workspace, tmp_path_factory.mktemp("canary"))


@pytest.fixture(scope="module")
def shared(sandbox: Sandbox) -> Iterator[Workspace]:
    with sandbox.workspace() as one:
        yield one


@pytest.fixture
def workspace(shared: Workspace) -> Iterator[Workspace]:
    """The same for all attacks, as a container takes a second to open; it has to work after each."""
    yield shared
    assert_works(shared)


WALL = {"bubblewrap": 1.5, "docker": 3.0}
"""Seconds: a container's program takes a moment to start."""
NETWORK = ("tcp", "tcp 6", "udp", "vsock", "vsock made", "raw", "packet", "netlink")


@pytest.mark.parametrize("name", NETWORK)
def test_no_socket_of_a_network_is_made(found: Quick, name: str) -> None:
    assert found.outcome[name] in ("EAFNOSUPPORT", "EPERM")


def test_nothing_reaches_the_host(found: Quick) -> None:
    assert found.outcome["dns"] == "gaierror"
    assert found.outcome["abstract socket"] == "ECONNREFUSED"
    assert found.outcome["socket in a folder"] == "ENOENT"
    assert found.arrived == []


def test_nothing_of_the_host_is_read(found: Quick) -> None:
    read = {name: outcome for name, outcome in found.outcome.items() if name.startswith("read ")}
    assert len(read) > 5
    assert set(read.values()) <= {"ENOENT", "EACCES", "EPERM", "ENXIO"}, read


def test_nothing_outside_the_workspace_is_written(found: Quick) -> None:
    written = {name: outcome for name, outcome in found.outcome.items() if name.startswith("write ")}
    assert len(written) > 5
    assert set(written.values()) <= {"ENOENT", "EACCES", "EPERM", "EROFS"}, written


@pytest.mark.parametrize("name", ["hard link", "mknod", "chown", "setuid"])
def test_no_file_or_user_of_the_host_is_had(found: Quick, name: str) -> None:
    assert found.outcome[name] in ("EPERM", "EXDEV", "EINVAL")


REFUSED = (
    "io_uring_setup", "add_key", "keyctl", "ptrace", "userfaultfd", "unshare", "unshare user", "mount", "umount2",
    "chroot", "pivot_root", "setns", "bpf", "perf_event_open", "memfd_create", "shmget", "personality",
    "process_vm_readv", "kexec_load", "init_module",
)  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_the_call_is_refused(found: Quick, name: str) -> None:
    assert found.outcome[name] == "EPERM"


def test_calls_that_hide_their_arguments_or_are_too_young_do_not_exist(found: Quick) -> None:
    assert found.outcome["clone3"] == "ENOSYS"
    assert found.outcome["a call from the future"] == "ENOSYS"


def test_no_privilege_is_left(found: Quick) -> None:
    assert (found.outcome["capabilities"], found.outcome["no new privileges"]) == ("", "1")


@pytest.mark.parametrize("where", ["environment", "command", "mount"])
def test_no_secret_is_seen(found: Quick, where: str) -> None:
    assert found.outcome[f"secret in the {where}" if where == "environment" else f"secret in a {where}"] == "False"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
def test_calls_by_another_numbering_end_the_program(workspace: Workspace) -> None:
    code = "b814000000cd80c3"  # getpid as on i386
    done = python(
        workspace,
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        f"page.write(bytes.fromhex({code!r}))\n"
        "start = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print(ctypes.CFUNCTYPE(ctypes.c_int)(start)())",
    )
    assert (done.exit_code, done.stdout) == (159, "")  # SIGSYS


LEAVINGS = """
import os, socket
os.symlink("/etc/passwd", "absolute")
os.symlink("../../../../../../etc/passwd", "relative")
os.symlink("/proc/self/root/etc/passwd", "process")
os.symlink("/proc/1/root/root", "out")
os.symlink("loop", "loop")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir("folder")
os.symlink("folder", "to folder")
open("folder/file", "w").write("in")
os.link("folder/file", "twice")
os.link("pipe", "pipe twice")
open("locked", "w").close()
os.chmod("locked", 0)
with open("long", "w") as file: file.truncate(8 << 20)
print(os.path.exists("out"), os.path.exists("/proc/1/root/etc/shadow"))
"""
NOT_READ = {
    "absolute": "link", "relative": "link", "process": "link", "out": "link", "loop": "link", "to folder": "link",
    "pipe": "pipe", "pipe twice": "pipe",
}  # fmt: skip


def test_only_plain_files_are_read_and_no_link_is_followed(workspace: Workspace) -> None:
    done = python(workspace, LEAVINGS)
    assert (done.stdout, done.stderr) == ("False False\n", "")
    files = workspace.files()
    assert files.refused == NOT_READ
    assert files.contents.keys() - {"kept"} == {"folder/file", "twice", "long"}
    assert files.contents["twice"] == b"in"
    for path in ("absolute", "to folder/file", "pipe", "socket", "folder", "locked", "missing"):
        started = time.monotonic()
        with pytest.raises(RefusedFile):
            workspace.read(path)
        assert time.monotonic() - started < 5
    assert len(workspace.read("long")) == 8 * MIB


def test_a_fork_bomb_stops_at_the_limit(workspace: Workspace) -> None:
    done = python(
        workspace,
        "import os, time\nfailed = 0\n"
        "for count in range(200):\n"
        "    try:\n        pid = os.fork()\n    except OSError:\n        failed += 1\n        continue\n"
        "    if pid == 0:\n        time.sleep(9)\n        os._exit(0)\n"
        "print(200 - failed)",
    )
    assert 10 < int(done.stdout) <= 24 + 4  # a container's limit holds for the sandbox's own four, too


def test_a_fork_bomb_that_goes_on_ends_with_the_time(sandbox: Sandbox, workspace: Workspace) -> None:
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    done = python(workspace, bomb, WALL[sandbox.kind])
    assert (done.status, done.killed_by) == (Status.TIME_LIMIT, "wall_seconds")


HOG = """
import mmap, os, socket, time

def filled():
    pairs = [socket.socketpair() for _ in range(58)]
    for one in (one for pair in pairs for one in pair):
        one.setblocking(False)
        try:
            while True: one.send(b"x" * 65536)
        except BlockingIOError:
            pass
    return pairs

for number in range(10):
    if os.fork() == 0:
        kept = @KEPT@
        open(f"had {number}", "w").close()
        time.sleep(1)
        os._exit(0)
for number in range(10): os.wait()
"""
KEPT = {
    "own memory": "b'x' * (48 << 20)",
    "shared memory": "mmap.mmap(-1, 48 << 20); kept.write(b'x' * (48 << 20))",
    "sockets": "filled()",
}


@pytest.mark.parametrize("kind", KEPT)
def test_many_processes_together_get_no_more_memory_than_one(workspace: Workspace, kind: str) -> None:
    done = python(workspace, HOG.replace("@KEPT@", KEPT[kind]))
    assert done.killed_by == "memory_bytes"
    if done.receipt.enforced_by["memory_bytes"].startswith("control group") and kind != "sockets":
        assert sum(name.startswith("had") for name in workspace.files().contents) <= 4


def test_one_process_gets_no_more_memory_than_its_share(workspace: Workspace) -> None:
    done = python(workspace, "x = []\nwhile True: x.append(b'x' * (1 << 20))")
    assert "MemoryError" in done.stderr or done.killed_by == "memory_bytes"


FILL = """
import os
for folder in ("/workspace", "/tmp", "/dev/shm"):
    written, errors = 0, set()
    for number in range(64):
        try:
            with open(f"{folder}/{number}", "wb", 0) as file:
                for _ in range(9): written += file.write(b"x" * (1 << 20))
        except OSError as error:
            errors.add(error.errno)
    for number in range(64):
        try: os.remove(f"{folder}/{number}")
        except OSError: pass
    try: open(f"{folder}/hole", "w").truncate(1 << 40)
    except OSError as error: errors.add(error.errno)
    print(folder, written >> 20, sorted(errors))
"""


def test_no_folder_takes_more_than_its_size_nor_a_file_more_than_a_files(workspace: Workspace) -> None:
    done = python(workspace, FILL)
    sizes = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert [folder for folder, _, _ in sizes] == ["/workspace", "/tmp", "/dev/shm"]
    assert all(12 <= int(megabytes) <= 16 for _, megabytes, _ in sizes)
    assert {errors for _, _, errors in sizes} == {"[27, 28]"}  # EFBIG and ENOSPC


def test_many_files_and_folders_stop_at_the_limit(bubblewrap: Sandbox) -> None:
    with opened(bubblewrap) as workspace:
        done = python(
            workspace,
            "import os\nmade = 0\ntry:\n    while made < 5000:\n        os.mkdir(f'/tmp/{made}')\n        made += 1\n"
            "except OSError as error:\n    print(made, error.errno)\n"
            "for n in range(made): os.rmdir(f'/tmp/{n}')",
        )
        made, code = map(int, done.stdout.split())
        assert 400 < made <= 500
        assert code == 28


def test_many_files_with_holes_do_not_fill_the_reader(workspace: Workspace) -> None:
    python(workspace, "for n in range(60): open(str(n), 'w').truncate(8 << 20)")
    with pytest.raises(RefusedFile, match="together more than"):
        workspace.files()
    assert len(workspace.read("7")) == 8 * MIB


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_flood_of_output_is_cut_and_stopped(workspace: Workspace, descriptor: int) -> None:
    done = python(workspace, f"import os\nwhile True: os.write({descriptor}, b'flood ' * 10000)")
    text, other = (done.stdout, done.stderr)[:: 1 if descriptor == 1 else -1]
    assert (len(text), other, done.killed_by) == (64 * 1024, "", "output_bytes")
    assert (done.stdout_cut, done.stderr_cut) == (descriptor == 1, descriptor == 2)


def test_a_program_that_says_more_than_is_kept_still_ends_by_itself(workspace: Workspace) -> None:
    done = python(workspace, "print('x' * 1000000)")
    assert (done.status, len(done.stdout), done.stdout_cut) == (Status.FINISHED, 64 * 1024, True)


@pytest.mark.parametrize("stays", ["stays", ""])
def test_nothing_outlives_its_program_or_its_time(sandbox: Sandbox, workspace: Workspace, stays: str) -> None:
    number = f"9{secrets.randbelow(10**9):09d}"
    done = attack(workspace, "evade", WALL[sandbox.kind], number=number, stay=stays)
    assert done.stdout == "started\n"
    assert done.status is (Status.TIME_LIMIT if stays else Status.FINISHED)
    assert done.wall_seconds < WALL[sandbox.kind] + 4
    assert not outlives(number)


def test_the_processor_is_not_had_for_ever(sandbox: Sandbox) -> None:
    """One process ends by its own limit; many together, in bubblewrap, by the watch."""
    limits = replace(sandbox.limits, cpu_seconds=1, wall_seconds=60.0)  # type: ignore[attr-defined]
    short = replace(sandbox, limits=limits)  # type: ignore[type-var]
    with short.workspace() as workspace:
        done = python(workspace, "while True: pass")
        assert (done.status, done.killed_by) == (Status.KILLED, "cpu_seconds")
        if sandbox.kind == "bubblewrap":
            done = python(workspace, "import os\nos.fork(), os.fork()\nwhile True: pass")
            assert (done.status, done.killed_by) == (Status.KILLED, "cpu_seconds")
        assert_works(workspace)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
def test_taking_over_the_first_process_does_not_help(bubblewrap: Sandbox) -> None:
    number = f"8{secrets.randbelow(10**9):09d}"
    with opened(bubblewrap) as workspace:
        done = attack(workspace, "take_over", wall=2.0, number=number)
        skip_if_kept_off(done)
        assert done.stdout == "taken over\n", done.stderr
        assert done.status is Status.TIME_LIMIT
        assert not outlives(number)


def test_ending_the_first_process_is_not_a_fault_of_the_machine(bubblewrap: Sandbox) -> None:
    with opened(bubblewrap) as workspace:
        done = python(
            workspace,
            "import os, time\nwhere = int(open('/proc/1/syscall').read().split()[-1], 16)\n"
            "with open('/proc/1/mem', 'r+b', 0) as memory:\n    memory.seek(where)\n    memory.write(b'\\xcc' * 16)\n"
            "if os.fork() == 0:\n    if os.fork() == 0: os._exit(0)\n    os._exit(0)\ntime.sleep(5)",
        )
        skip_if_kept_off(done)
        assert done.status is Status.ERROR


def test_what_is_read_is_this_project(found: Quick) -> None:
    assert f"read {ROOT / 'pyproject.toml'}" in found.outcome
