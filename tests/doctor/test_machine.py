import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from posttrain.doctor import machine
from posttrain.doctor.machine import Need, disk_check, free_memory, memory_check, packages_check, python_check
from posttrain.doctor.machine import total_memory as total

NUMPY = version("numpy").split("+")[0]


def _project(root: Path, dependencies: str, constraints: str) -> Path:
    (root / "pyproject.toml").write_text(
        f'[project]\ndependencies = [{dependencies}]\n[project.optional-dependencies]\nhub = ["no_such.package>=2"]\n'
    )
    (root / "constraints.txt").write_text(f"# numpy==0.1\n{constraints}\n")
    return root


def test_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_check().status == "ok"
    monkeypatch.setattr(sys, "version_info", (3, 10, 2))
    check = python_check()
    assert (check.status, check.found) == ("FAIL", "3.10.2")
    assert "3.11 or newer" in check.todo


def test_packages_as_tested(tmp_path: Path) -> None:
    check = packages_check(_project(tmp_path, '"NumPy", "pytest>=8"', f"numpy=={NUMPY}"), [])
    assert (check.status, check.found) == ("ok", "2 installed, in the versions of constraints.txt")


def test_packages_of_other_versions_are_named(tmp_path: Path) -> None:
    check = packages_check(_project(tmp_path, '"numpy", "pytest"', "numpy==0.1"), [])
    assert check.status == "warn"
    assert check.found == f"not as tested: numpy {NUMPY} (tested: 0.1)"


def test_missing_packages_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    root = _project(tmp_path, '"numpy", "absent-one"', "numpy==0.1")
    check = packages_check(root, [])
    assert (check.status, check.found) == ("FAIL", "missing: absent-one")
    assert check.todo == "`pip install -c constraints.txt -e '.'`"
    check = packages_check(root, ["hub"])
    assert check.found == "missing: absent-one, no_such.package"
    assert check.todo == "`pip install -c constraints.txt -e '.[hub]'`"


def test_disk(tmp_path: Path) -> None:
    absent = tmp_path / "not" / "yet"
    check = disk_check(absent, Need(3e6, "three files"))
    assert check.status == "ok"
    assert check.found.endswith(f" free in {absent}, about 3 MB needed (three files)")
    check = disk_check(absent, Need(1e18, "everything"))
    assert check.status == "FAIL"
    assert "about 1000000000.0 GB needed" in check.found
    assert not absent.exists()


def test_disk_where_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    check = disk_check(tmp_path / "file" / "cache", Need(1, "a byte"))
    assert (check.status, check.found) == ("FAIL", f"nothing can be made in {tmp_path / 'file'}")


@pytest.mark.parametrize(
    ("memory", "free", "status"),
    [
        (8e9, 7e9, "ok"),
        (8e9, None, "ok"),
        (8e9, 1e9, "warn"),
        (3e9, 3e9, "warn"),
        (1e9, 1e9, "FAIL"),
        (None, None, "warn"),
    ],
)
def test_memory(memory: float | None, free: float | None, status: str) -> None:
    check = memory_check(Need(4e9, "a model"), memory, free)
    assert check.status == status
    assert "about 4.0 GB needed (a model)" in check.found
    assert bool(check.todo) == (status != "ok")


def test_memory_of_this_machine() -> None:
    here, free = total(), free_memory()
    assert here is not None
    assert here > 1e8
    if sys.platform == "linux":
        assert free is not None
        assert 0 < free <= here * 1.01 or here < 1e9


def test_a_names_spelling_does_not_matter() -> None:
    assert machine._plain("Ruamel.YAML ") == machine._plain("ruamel_yaml")
