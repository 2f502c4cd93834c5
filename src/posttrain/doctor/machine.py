"""What of this machine a run needs: Python, packages, room on disk, memory."""

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from posttrain.doctor.check import Check

OLDEST_PYTHON = (3, 11)
INSTALL = "run `make setup`"


@dataclass(frozen=True)
class Need:
    """Bytes that a run is expected to need, and what they were reckoned from."""

    size: float
    reckoned: str


def python_check() -> Check:
    """Whether this Python is one that the package supports."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        return Check("FAIL", found, f"install {'.'.join(map(str, OLDEST_PYTHON))} or newer, and {INSTALL}")
    return Check("ok", found)


def packages_check(root: Path, extras: Iterable[str]) -> Check:
    """Whether what pyproject.toml asks for is installed, in the versions of constraints.txt.

    `extras` are those of its optional parts that this run needs.
    """
    with (root / "pyproject.toml").open("rb") as file:
        asked = tomllib.load(file)["project"]
    wanted = [*asked["dependencies"], *(name for extra in extras for name in asked["optional-dependencies"][extra])]
    tested = _pinned(root / "constraints.txt")
    missing, other = [], []
    for name in (re.split(r"[^\w.-]", requirement)[0] for requirement in wanted):
        try:
            found = version(name).split("+")[0]  # without the mark of a build, as in 2.13.0+cpu
        except PackageNotFoundError:
            missing.append(name)
            continue
        if found != tested.get(_plain(name), found):
            other.append(f"{name} {found} (tested: {tested[_plain(name)]})")
    if missing:
        parts = f"[{','.join(extras)}]" if extras else ""
        return Check("FAIL", f"missing: {', '.join(missing)}", f"`pip install -c constraints.txt -e '.{parts}'`")
    if other:
        return Check("warn", f"not as tested: {', '.join(other)}", f"{INSTALL} for the tested versions")
    return Check("ok", f"{len(wanted)} installed, in the versions of constraints.txt")


def disk_check(folder: Path, need: Need) -> Check:
    """Whether the file system of `folder`, which need not exist yet, has room."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    found = f"{_size(free)} free in {folder}, about {_size(need.size)} needed ({need.reckoned})"
    if not there.is_dir() or not os.access(there, os.W_OK):
        return Check("FAIL", f"nothing can be made in {there}", "mend its permissions, or use another directory")
    if free < need.size:
        return Check("FAIL", found, "free some space, or use another disk ($POSTTRAIN_CACHE moves the cache)")
    return Check("ok", found)


def memory_check(need: Need, total: float | None, free: float | None) -> Check:
    """Whether `total` bytes of memory, `free` of them now, are enough; None is unknown."""
    if total is None:
        return Check("warn", f"cannot be read; about {_size(need.size)} needed ({need.reckoned})", "see for yourself")
    shown = "" if free is None else f", {_size(free)} of it free now"
    found = f"{_size(total)}{shown}; about {_size(need.size)} needed ({need.reckoned})"
    if total < need.size / 2:
        return Check("FAIL", found, "use a smaller engine.model or engine.micro_batch_tokens, or engine.name: tinker")
    if total < need.size:
        return Check("warn", found, "it may not suffice; lower engine.micro_batch_tokens and engine.batch_rows")
    if free is not None and free < need.size:
        return Check("warn", found, "end other programs first")
    return Check("ok", found)


def total_memory() -> float | None:
    """Bytes of memory that this process may use: the machine's, or its control group's if that is less."""
    try:
        machine: float = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    try:
        return min(machine, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no control groups here, or "max"
        return machine


def free_memory() -> float | None:
    """Bytes that can be had without swapping; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", lines, re.MULTILINE)
    return float(found[1]) * 1024 if found else None


def _pinned(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))
    return {_plain(name): number.strip() for name, number in pairs}


def _plain(name: str) -> str:
    """A package's name as packaging tools compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
