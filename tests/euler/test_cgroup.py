"""Control groups, on folders that look like them; `find_parent` is also asked about this machine."""

from pathlib import Path

import pytest

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import cgroup
from tests.euler.sandboxes import SETTINGS


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hierarchy with a.slice/b.scope, in which this process is said to be."""
    inner = tmp_path / "cgroup/a.slice/b.scope"
    inner.mkdir(parents=True)
    (tmp_path / "mounts").write_text(f"proc /proc proc rw 0 0\nnone {tmp_path}/cgroup cgroup2 rw 0 0\n")
    (tmp_path / "own").write_text("1:cpu:/x\n0::/a.slice/b.scope\n")
    monkeypatch.setattr(cgroup, "_can_join", lambda parent: not (parent / "closed").exists())
    return tmp_path


def found(tree: Path) -> Path | None:
    return cgroup.find_parent(tree / "mounts", tree / "own")


def test_the_nearest_group_that_counts_for_those_below_is_taken(tree: Path) -> None:
    assert found(tree) is None
    (tree / "cgroup/cgroup.subtree_control").write_text("cpu memory pids\n")
    assert found(tree) == tree / "cgroup"
    (tree / "cgroup/a.slice/cgroup.subtree_control").write_text("memory pids\n")
    assert found(tree) == tree / "cgroup/a.slice"
    (tree / "cgroup/a.slice/cgroup.subtree_control").write_text("pids\n")
    assert found(tree) == tree / "cgroup"
    (tree / "cgroup/closed").touch()
    assert found(tree) is None


def test_without_version_two_there_is_none(tmp_path: Path) -> None:
    assert cgroup.find_parent(tmp_path / "missing", tmp_path / "missing") is None


def test_a_group_gets_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_remove", lambda _: None)
    with cgroup.group(tmp_path, SETTINGS.limits) as folder:
        assert (folder / "memory.max").read_text() == str((128 + 16) << 20)
        assert (folder / "pids.max").read_text() == "26"
        assert not cgroup.out_of_memory(folder)
        (folder / "memory.events").write_text("low 0\noom 2\noom_kill 1\n")
        assert cgroup.out_of_memory(folder)


def test_a_group_that_cannot_be_made_is_no_result() -> None:
    with pytest.raises(InfrastructureError, match="control group"), cgroup.group(Path("/proc/x"), SETTINGS.limits):
        pass


def test_a_real_group_holds_a_program(bubblewrap: object) -> None:
    from dataclasses import replace

    parent = cgroup.find_parent()
    if parent is None:
        pytest.skip("control groups: no version 2 here that counts memory and processes")
    from tests.euler.sandboxes import need_bubblewrap, python

    del bubblewrap
    with replace(need_bubblewrap(), parent=parent).workspace() as workspace:  # type: ignore[type-var]
        done = python(workspace, "x = []\nwhile True: x.append(b'x' * (1 << 20))")
        assert done.killed_by == "memory_bytes"
        assert done.receipt.enforced_by["memory_bytes"] == "control group"
    assert not list(parent.glob("posttrain-*"))
