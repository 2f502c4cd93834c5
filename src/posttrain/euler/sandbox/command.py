"""The command line of bubblewrap, and what is put around it."""

from collections.abc import Sequence
from pathlib import Path

from posttrain.euler.sandbox.holder import PLACE, PROGRAMS, unprivileged
from posttrain.euler.sandbox.protocol import Limits

PATH = PROGRAMS["PATH"]
INSIDE = {"PATH": PATH, "HOME": "/workspace", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
"""The whole environment of a program in a sandbox of either kind."""
USER = 1000
"""Who the program is inside."""
OPEN_FILES = 128
NO_CORE = 1
"""Byte of a core file: 0 would still let the kernel start the machine's crash reporter for a program that crashes."""
_GIB = 2**30
_LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_OF_ETC = ("alternatives", "ld.so.cache", "julia")
"""What programs of /usr need of /etc: where `awk` leads, where libraries lie, how Julia starts. No names, no keys."""
STARTED = 'printf %s "$1" >&2; shift; exec "$@"'
"""Says on stderr that the sandbox is ready, and becomes the program."""
_OUTER = """
echo 1000 > /proc/self/oom_score_adj
if [ -n "$1" ]; then echo 0 > "$1/cgroup.procs" || exit; fi
shift
exec "$@"
"""
"""Becomes the sandbox: first in line when the machine's memory is full, and in a control group if there is one."""


def options(root: Path, seccomp_fd: int) -> list[str]:
    """bubblewrap's options, for `--args`, so that no program inside reads them in /proc/1/cmdline."""
    listed = [
        "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
        "--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv",
    ]  # fmt: skip
    for name, value in INSIDE.items():
        listed += ["--setenv", name, value]
    listed += ["--ro-bind", str(root / "usr"), "/usr"]
    for name in _LINKED:
        if (root / name).is_symlink():
            listed += ["--symlink", str((root / name).readlink()), f"/{name}"]
        elif (root / name).is_dir():
            listed += ["--ro-bind", str(root / name), f"/{name}"]
    for name in _OF_ETC:
        listed += ["--ro-bind-try", str(root / "etc" / name), f"/etc/{name}"]
    # The root and /dev are themselves writable memory until they are mounted again.
    listed += [
        "--proc", "/proc", "--dev", "/dev", "--bind", f"{PLACE}/shm", "/dev/shm", "--bind", f"{PLACE}/tmp", "/tmp",
        "--bind", f"{PLACE}/workspace", "/workspace", "--remount-ro", "/dev", "--remount-ro", "/",
        "--chdir", "/workspace", "--seccomp", str(seccomp_fd),
    ]  # fmt: skip
    return listed


def program(argv: Sequence[str], limits: Limits, counted: bool, mark: str) -> list[str]:
    """The command inside: `mark` on stderr, then the program under its limits.

    They are set inside, in the innermost user namespace, where only this sandbox's processes count for `--nproc`.
    Where no control group counts memory (`counted`), a process cannot outrun the watch by more than these two allow:
    `--data` is what it may write to, and `--as` leaves the GiB that node reserves and never touches.
    """
    memory = [] if counted else [f"--data={limits.memory_bytes}", f"--as={limits.memory_bytes + _GIB}"]
    bounds = [
        f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}", f"--fsize={limits.file_bytes}",
        f"--nproc={limits.pids}", f"--nofile={OPEN_FILES}", f"--core={NO_CORE}", "--memlock=0", "--msgqueue=0",
    ]  # fmt: skip
    return ["sh", "-c", STARTED, "sh", mark, "prlimit", *bounds, *memory, "--", *argv]


def outer(inside: Sequence[str], holder: int, cgroup: Path | None, args_fd: int, status_fd: int) -> list[str]:
    """The whole command: into the control group, to an unprivileged user, into the holder's namespaces, bubblewrap."""
    enter = ["nsenter", "--target", str(holder), "--user", "--mount", "--preserve-credentials", "--"]
    bwrap = ["bwrap", "--args", str(args_fd), "--json-status-fd", str(status_fd), "--", *inside]
    return ["sh", "-c", _OUTER, "sh", str(cgroup or ""), *unprivileged(), *enter, *bwrap]
