"""Which sandbox is taken, and that there is no run without one."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from posttrain.errors import InfrastructureError, SettingsError
from posttrain.euler.sandbox import choose, holder, seccomp
from posttrain.euler.sandbox.choose import available, kinds, open_sandbox
from posttrain.euler.sandbox.protocol import Limits, Sandbox
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.settings import load
from tests.euler.sandboxes import SETTINGS

IMAGE = f"image@sha256:{'0' * 64}"


def test_bubblewrap_is_tried_before_containers_and_those_only_with_an_image(bubblewrap: Sandbox) -> None:
    assert kinds(replace(SETTINGS, kind="auto")) == ["bubblewrap"]
    assert kinds(replace(SETTINGS, kind="auto", image=IMAGE)) == ["bubblewrap", "docker"]
    assert kinds(replace(SETTINGS, kind="docker", image=IMAGE)) == ["docker"]
    assert open_sandbox(replace(SETTINGS, kind="auto")).kind == bubblewrap.kind
    assert available(replace(SETTINGS, kind="auto")) == {"bubblewrap": ""}


def test_without_any_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_PROGRAMS", ("no-such-bwrap",))
    settings = replace(SETTINGS, kind="auto", image=IMAGE, engine=("no-such-docker",))
    with pytest.raises(InfrastructureError) as raised:
        open_sandbox(settings)
    message = str(raised.value)
    for part in ("no-such-bwrap is missing", "no-such-docker cannot be started", "apt install bubblewrap"):
        assert part in message
    assert list(available(settings)) == ["bubblewrap", "docker"]
    assert "no-such-bwrap is missing" in available(settings)["bubblewrap"]


def test_what_keeps_it_from_working_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    switch = tmp_path / "max_user_namespaces"
    switch.write_text("0\n")
    monkeypatch.setattr(holder, "_SWITCHES", {str(switch): ("0", "user.max_user_namespaces=10000")})
    monkeypatch.setattr(holder, "PLACE", "/no/such/folder")
    with pytest.raises(InfrastructureError, match=r"user namespaces are disabled.*max_user_namespaces=10000"):
        open_sandbox(SETTINGS)


def test_an_old_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose.platform, "release", lambda: "5.10.0-28-amd64")
    assert "Linux 5.10.0-28-amd64 is too old" in available(SETTINGS)["bubblewrap"]


def test_a_missing_filter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pyseccomp":
            raise ImportError("No module named 'pyseccomp'")
        return real(name, *rest, **more)

    seccomp.bpf.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    assert "posttrain[euler]" in available(SETTINGS)["bubblewrap"]


def test_settings_are_read_from_a_params_file(tmp_path: Path) -> None:
    section = {**vars(SETTINGS), "engine": ["docker"]}
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({"sandbox": section}))
    settings = load("sandbox", SandboxSettings, path)
    assert settings == SETTINGS
    assert settings.limits == Limits(10.0, 10, 128 << 20, 24, 64 << 10, 8 << 20, 16 << 20, 500)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"wall_seconds": 0.0}, "wall_seconds"),
        ({"memory_mib": -1}, "memory_mib"),
        ({"pids": 3}, "pids"),
        ({"workspace_inodes": 0}, "workspace_inodes"),
        ({"root": "here"}, "root"),
        ({"engine": ()}, "engine"),
        ({"kind": "docker"}, "image"),
        ({"image": "python:3.11"}, "image"),
    ],
)
def test_impossible_settings_are_named(changes: dict[str, Any], match: str) -> None:
    SETTINGS.check()
    with pytest.raises(SettingsError, match=f"^{match}"):
        replace(SETTINGS, **changes).check()


def test_nothing_of_it_is_imported_with_the_command_line() -> None:
    import subprocess
    import sys

    source = "import posttrain.cli, sys; print([name for name in sys.modules if 'euler' in name or 'seccomp' in name])"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, env=os.environ)
    # The command's own arguments, and nothing that does its work.
    assert done.stdout == "['posttrain.commands.euler']\n"
