"""A small root file system, copied from this machine's programs, so that podman can stand in for Docker."""

import re
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("sh", "cat", "tar", "sleep", "true", "id", "ln", "rm", "prlimit", "python3")
_LIBRARIES = re.compile(r"(/\S+)")
_UNUSED = (
    "test", "idlelib", "lib2to3", "ensurepip", "distutils", "tkinter", "turtledemo", "pydoc_data", "unittest", "xml",
    "xmlrpc", "wsgiref", "curses", "dbm", "sqlite3", "multiprocessing", "asyncio", "email", "http", "html", "logging",
    "config-3.*", "tomllib", "venv", "zoneinfo", "turtle.py", "pydoc.py", "doctest.py", "pdb.py",
)  # fmt: skip


def build(root: Path) -> Path:
    """Makes it; needs Debian's python3."""
    for folder in ("bin", "lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    for folder in ("proc", "dev", "sys", "run", "etc", "var/tmp", "tmp", "workspace"):
        (root / folder).mkdir(parents=True)
    for folder in ("tmp", "workspace"):
        (root / folder).chmod(0o1777)
    python = Path("/usr/bin/python3").resolve()
    library = Path("/usr/lib") / python.name
    shutil.copytree(library, root / "usr/lib" / python.name, ignore=shutil.ignore_patterns(*_UNUSED), symlinks=True)
    binaries = [Path("/usr/bin", name) for name in PROGRAMS]
    for binary in binaries:
        shutil.copy(binary, root / "usr/bin" / binary.name)
    for path in _libraries([*binaries, *library.glob("lib-dynload/*.so")]):
        (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.relative_to("/"))
    return root


def _libraries(binaries: list[Path]) -> set[Path]:
    listed = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    lines = [line.strip() for line in listed.splitlines() if not line.endswith(":")]
    return {Path(found[1]) for line in lines if (found := _LIBRARIES.search(line))}
