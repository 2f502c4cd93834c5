"""The sandboxes that the tests attack, and what they look at from outside."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posttrain.euler.sandbox.choose import available, open_sandbox
from posttrain.euler.sandbox.protocol import Result, Sandbox, Workspace
from posttrain.euler.sandbox.settings import SandboxSettings
from tests.euler.rootfs import build

MIB = 2**20
ATTACKS = Path(__file__).parent / "attacks"
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs")
SETTINGS = SandboxSettings(
    kind="bubblewrap",
    root="/",
    engine=("docker",),
    image="",
    wall_seconds=10.0,
    cpu_seconds=10,
    memory_mib=128,
    pids=24,
    output_kib=64,
    file_mib=8,
    workspace_mib=16,
    workspace_inodes=500,
)


def need(settings: SandboxSettings) -> Sandbox:
    """The sandbox, or the test is skipped with the reason."""
    for kind, fault in available(settings).items():
        if fault:
            pytest.skip(f"{kind}: {fault}")
    return open_sandbox(settings)


def need_bubblewrap(**changes: Any) -> Sandbox:
    return need(replace(SETTINGS, **changes))


def need_containers(folder: Path) -> Sandbox:
    """Docker with the image that POSTTRAIN_TEST_IMAGE names, or podman in its place."""
    if image := os.environ.get("POSTTRAIN_TEST_IMAGE"):
        return need(replace(SETTINGS, kind="docker", image=image))
    if os.geteuid() != 0 or not shutil.which("podman") or not Path("/usr/bin/python3").exists():
        pytest.skip("docker: neither POSTTRAIN_TEST_IMAGE nor, as root, podman and /usr/bin/python3 are there")
    image = f"rootfs:{build(folder / 'rootfs')}"
    return need(replace(SETTINGS, kind="docker", engine=PODMAN, image=image))


@contextmanager
def opened(sandbox: Sandbox) -> Iterator[Workspace]:
    """A workspace that works when it is opened, and still does when the attack on it is over."""
    with sandbox.workspace() as workspace:
        yield workspace
        assert_works(workspace)


def assert_works(workspace: Workspace) -> None:
    """Whether a program still runs, and can write when what was there is removed."""
    clear = "rm -rf /workspace/* /tmp/* /dev/shm/*; cat > kept && cat kept && echo end >&2"
    done = workspace.run(["sh", "-c", clear], stdin=b"still here")
    assert (done.status, done.stdout, done.stderr) == ("Finished", "still here", "end\n")


def open_to_all(folder: Path) -> None:
    """Lets the sandbox's user into pytest's own folders, which are for pytest's user alone."""
    for one in (folder, *folder.parents):
        if one == Path(tempfile.gettempdir()):
            break
        one.chmod(one.stat().st_mode | 0o005)


def attack(workspace: Workspace, name: str, wall: float | None = None, **words: str) -> Result:
    """Runs a program of attacks/, with @WORD@ replaced."""
    source = (ATTACKS / f"{name}.py").read_text()
    for word, value in words.items():
        source = source.replace(f"@{word.upper()}@", value)
    return python(workspace, source, wall)


def python(workspace: Workspace, source: str, wall: float | None = None) -> Result:
    """Runs a program that comes from stdin, so that nothing of it is in a command line."""
    return workspace.run(["python3", "-"], source.encode(), wall)


def skip_if_kept_off(done: Result) -> None:
    """Some kernels let no process into the first one's memory, and then there is nothing to try."""
    if "PermissionError" in done.stderr or "FileNotFoundError" in done.stderr:
        pytest.skip(f"/proc/1/mem: {done.stderr.strip().splitlines()[-1]}")


def living(word: str) -> list[int]:
    """Processes of this machine with that word in their command, as the host sees them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def outlives(word: str) -> bool:
    """Whether such a process is still there a moment later: a killed one takes some time to go."""
    for _ in range(20):
        if not living(word):
            return False
        time.sleep(0.05)
    return True
