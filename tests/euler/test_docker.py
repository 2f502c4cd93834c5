"""Containers: the command lines word for word, and what happens when the engine fails."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from posttrain.errors import InfrastructureError, SettingsError
from posttrain.euler.sandbox import leftovers
from posttrain.euler.sandbox.choose import open_sandbox
from posttrain.euler.sandbox.docker import Docker, DockerWorkspace
from posttrain.euler.sandbox.engine import Engine, environment
from posttrain.euler.sandbox.protocol import Sandbox, Status
from tests.euler.sandboxes import PODMAN, SETTINGS, assert_works, python

IMAGE = f"vemlp/sandbox-fusion@sha256:{'0a' * 32}"
DOCKER = Engine(("docker",), IMAGE)


def test_how_a_container_is_started() -> None:
    command = DOCKER.run("posttrain-1", "boot/ns/1/2", SETTINGS.limits, Path("/rules.json"))
    proxies = [
        word
        for name in ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
        for word in ("--env", f"{name}=", "--env", f"{name.upper()}=")
    ]
    assert command == [
        "docker", "run", "--rm", "--interactive", "--init", "--name", "posttrain-1",
        "--label", "posttrain.sandbox=boot/ns/1/2", "--log-driver", "none", "--network", "none", "--ipc", "private",
        "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
        "--security-opt", "seccomp=/rules.json", "--cpus", "1",
        "--memory", "150994944", "--memory-swap", "150994944", "--pids-limit", "28", "--shm-size", "16777216",
        "--ulimit", "cpu=10:11", "--ulimit", "fsize=8388608:8388608", "--ulimit", "nofile=128:128",
        "--ulimit", "core=1:1", "--ulimit", "msgqueue=0:0", "--ulimit", "memlock=0:0", *proxies,
        "--tmpfs", "/workspace:rw,exec,nosuid,nodev,mode=0777,size=16777216,nr_inodes=500,uid=1000,gid=1000",
        "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=0777,size=16777216,nr_inodes=500,uid=1000,gid=1000",
        "--user", "65532:65532", "--workdir", "/workspace", "--entrypoint", "cat", "--pull", "never", IMAGE,
    ]  # fmt: skip


def test_podman_gets_what_it_needs_to_stand_in() -> None:
    command = Engine(PODMAN, "rootfs:/a/root").run("posttrain-1", "owner", SETTINGS.limits, Path("/rules.json"))
    assert command[: len(PODMAN) + 1] == [*PODMAN, "run"]
    assert command[-4:] == ["--entrypoint", "cat", "--rootfs", "/a/root"]
    assert {"--read-only-tmpfs=false", "--http-proxy=false", "--read-only"} <= set(command)
    assert "/workspace:rw,exec,nosuid,nodev,mode=0777,size=16777216" in command


def test_how_programs_are_run_and_ended() -> None:
    assert DOCKER.execute("c", ["python3", "a.py"], "mark") == [
        "docker", "exec", "--interactive", "--user", "1000:1000", "--workdir", "/workspace",
        "--env", "HOME=/workspace", "--env", "TMPDIR=/tmp", "--env", "LANG=C.UTF-8",
        "c", "sh", "-c", 'printf %s "$1" >&2; shift; exec "$@"', "sh", "mark", "python3", "a.py",
    ]  # fmt: skip
    assert DOCKER.end_all("c")[:6] == ["docker", "exec", "--user", "1000:1000", "c", "sh"]
    assert "kill -9 -1" in DOCKER.end_all("c")[-1]
    assert DOCKER.inspect("c") == ["docker", "inspect", "--format", "{{.Id}}", "c"]
    assert DOCKER.remove("a", "b") == ["docker", "rm", "--force", "--volumes", "a", "b"]
    assert DOCKER.labelled() == [
        "docker",
        "ps",
        "--all",
        "--quiet",
        "--no-trunc",
        "--filter",
        "label=posttrain.sandbox",
    ]
    assert DOCKER.owner("c")[-2:] == ['{{index .Config.Labels "posttrain.sandbox"}}', "c"]


@pytest.mark.parametrize(
    "image", ["", "python", "python:3.11", "python@sha256:12", "rootfs:/x", f"{IMAGE} --privileged"]
)
def test_an_image_that_is_not_pinned_is_refused(image: str) -> None:
    with pytest.raises(SettingsError, match="pinned by digest"):
        Engine(("docker",), image).check()


def test_podman_may_use_a_folder_and_pinned_images_are_taken() -> None:
    Engine(PODMAN, "rootfs:/x").check()
    DOCKER.check()
    Engine(("docker",), f"localhost:5000/a/b:tag@sha256:{'1' * 64}").check()


def test_the_client_gets_none_of_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_API_KEY", "secret")
    monkeypatch.setenv("http_proxy", "secret")
    monkeypatch.setenv("DOCKER_HOST", "unix:///x")
    assert environment()["DOCKER_HOST"] == "unix:///x"
    assert "secret" not in environment().values()


@pytest.mark.parametrize(
    ("engine", "match"),
    [
        (("no-such-engine",), "no-such-engine cannot be started"),
        (("false",), "does not start: it is silent"),
        (("sh", "-c", "echo Cannot connect to the daemon >&2; exit 1"), "Cannot connect to the daemon"),
    ],
)
def test_an_engine_that_fails_is_no_result(engine: tuple[str, ...], match: str) -> None:
    with pytest.raises(InfrastructureError, match=match):
        open_sandbox(replace(SETTINGS, kind="docker", engine=engine, image=IMAGE))


def test_owners_that_are_over_are_known() -> None:
    mine = leftovers.owner()
    boot, namespace, pid, started_at = mine.split("/")
    assert int(pid) == os.getpid()
    assert not leftovers.is_left_over(mine)
    assert leftovers.is_left_over(f"{boot}/{namespace}/{pid}/{int(started_at) + 1}")
    assert leftovers.is_left_over(f"{boot}/{namespace}/{2**22 + 1}/1")
    assert leftovers.is_left_over(f"another-boot/{namespace}/{pid}/{started_at}")
    assert not leftovers.is_left_over(f"{boot}/1/{pid}/1")  # in another container, which cannot be looked into
    for label in ("", "<no value>", "a/b", "a/b/c/d/e", f"{boot}/{namespace}/x/1"):
        assert not leftovers.is_left_over(label)


def test_left_over_containers_are_removed_and_others_are_not(
    containers: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = cast(Docker, containers).engine
    with containers.workspace() as mine:
        dead = "/".join([*leftovers.owner().split("/")[:2], str(2**22 + 1), "1"])
        with monkeypatch.context() as patch:
            patch.setattr(leftovers, "owner", lambda: dead)
            other = containers.workspace()
            left = cast(DockerWorkspace, other.__enter__())
        assert leftovers.clean(engine) == [left.container.id]
        assert leftovers.clean(engine) == []
        other.__exit__(None, None, None)
        assert_works(mine)


def test_a_receipt_names_the_container_and_its_image(containers: Sandbox) -> None:
    with containers.workspace() as workspace:
        receipt = workspace.run(["true"]).receipt
    assert receipt.kind == "docker"
    assert receipt.container is not None
    assert len(receipt.container) == 64
    assert receipt.image == cast(Docker, containers).engine.image
    assert receipt.enforced_by["memory_bytes"].startswith("control group")


def test_a_program_that_can_only_be_ended_with_its_container_loses_its_files(
    containers: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with containers.workspace() as opened:
        workspace = cast(DockerWorkspace, opened)
        workspace.write("kept", b"")
        first = workspace.container
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "end_all", lambda *_: ["false"])
            done = python(workspace, "import time\ntime.sleep(60)", wall=1.0)
        assert (done.status, done.workspace_lost) == (Status.TIME_LIMIT, True)
        assert done.receipt.container == first.id != workspace.container.id
        assert workspace.files().contents == {}
        assert_works(workspace)


def test_a_container_that_is_gone_is_no_result(containers: Sandbox) -> None:
    with containers.workspace() as opened:
        workspace = cast(DockerWorkspace, opened)
        workspace.container.remove()
        with pytest.raises(InfrastructureError, match="did not start"):
            workspace.run(["true"])
        assert_works(workspace)  # a new one has taken its place


def test_containers_end_with_their_client(containers: Sandbox) -> None:
    engine = cast(Docker, containers).engine
    with containers.workspace() as opened:
        workspace = cast(DockerWorkspace, opened)
        workspace.container.keeper.end(5)
        for _ in range(50):
            if not engine.call(engine.inspect(workspace.container.name), 10).stdout.strip():
                break
            time.sleep(0.1)
        else:
            raise AssertionError("it still runs")
