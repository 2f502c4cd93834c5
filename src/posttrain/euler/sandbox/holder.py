"""The process that keeps a workspace for bubblewrap: namespaces in which a tmpfs with a quota is mounted.

A quota on a tmpfs is the one that needs no privilege and no set-up of the disk, and counts files as well as bytes.
It is gone with the last process that is in its namespace, however this program ends: the keeper reads from a pipe.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.child import start
from posttrain.euler.sandbox.protocol import Limits

PLACE = "/mnt"
"""Where it is mounted, seen by nobody else. Every Linux has this folder; bubblewrap itself uses /tmp."""
FOLDERS = ("workspace", "tmp", "shm")
NOBODY = 65534
SECONDS = 30.0
"""What starting or ending it may take on a busy machine."""
PROGRAMS = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
"""The whole environment of everything that is started: what is not there cannot be found."""


def unprivileged() -> list[str]:
    """What to put in front of a command so that it is nobody's when this program is root's."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "--"]


@contextmanager
def held(limits: Limits) -> Iterator[int]:
    """A process id, whose user and mount namespaces hold an empty workspace.

    Raises:
        InfrastructureError: the kernel does not let this user make it.
    """
    # The three folders, and the one that they are in, count as well.
    quota = f"size={limits.workspace_bytes},nr_inodes={limits.workspace_inodes + len(FOLDERS) + 1}"
    script = (
        f"mount -t tmpfs -o {quota},mode=0755,nosuid,nodev posttrain {PLACE} && "
        f"cd {PLACE} && mkdir -m 0755 {' '.join(FOLDERS)} && cd / && echo ready && exec cat"
    )
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "--"]
    keeper = start([*unprivileged(), *unshare, "sh", "-c", script], PROGRAMS)
    try:
        if keeper.stdout.readline() != b"ready\n":
            reason = keeper.stderr.read().decode(errors="replace").strip()
            raise InfrastructureError(f"no workspace can be made: {reason or 'unshare failed'}; {hint()}")
        yield keeper.process.pid
    finally:
        keeper.end(SECONDS)


_SWITCHES = {
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": ("1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "user.max_user_namespaces=10000"),
}


def hint() -> str:
    """What to do where bubblewrap does not work, as far as the kernel's switches say."""
    for path, (closed, setting) in _SWITCHES.items():
        with suppress(OSError):
            if Path(path).read_text().strip() == closed:
                return f"user namespaces are disabled: `sysctl -w {setting}`"
    return "`apt install bubblewrap util-linux`, or set sandbox.kind to docker"
