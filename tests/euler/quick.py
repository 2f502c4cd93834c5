"""Runs attacks/quick.py beside listeners on the host, and says what came of each try and what reached the host."""

import json
import os
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from posttrain.euler.sandbox.protocol import Workspace
from posttrain.euler.sandbox.syscalls import REFUSED
from tests.euler.sandboxes import attack, open_to_all
from tests.project import ROOT

CANARY = "canary-in-the-environment"
_READ = ("/etc/shadow", "/etc/hostname-of-nobody", "/root/.bashrc", "/home", "/proc/kcore", "/proc/kmsg", "/dev/mem",
         "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/tty")  # fmt: skip
_WRITE = ("/x", "/dev/x", "/usr/x", "/usr/bin/env", "/etc/x", "/lib/x", "/proc/sys/kernel/core_pattern",
          "/proc/sysrq-trigger", "/proc/self/oom_score_adj.x", "/sys/x", "/root/x")  # fmt: skip


@dataclass(frozen=True)
class Quick:
    """`outcome` is "done" or the name of the error, for each try; `arrived` is what the listeners got."""

    outcome: dict[str, str]
    arrived: list[str]


def quick(workspace: Workspace, folder: Path) -> Quick:
    """Runs it; `folder` is made readable for everyone and holds the canary."""
    import pyseccomp

    canary = folder / "canary"
    canary.write_text("canary")
    open_to_all(folder)
    arch = pyseccomp.system_arch()
    numbers = {name: pyseccomp.resolve_syscall(arch, name) for names in REFUSED.values() for name in names.split()}
    numbers |= {"clone3": pyseccomp.resolve_syscall(arch, "clone3"), "from the future": 1000}
    with ExitStack() as stack:
        listeners = {}
        for name, family, kind, address in (
            ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0posttrain-{os.getpid()}"),
            ("path", socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
        ):
            one = listeners[name] = stack.enter_context(socket.socket(family, kind))
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen()
        given = {
            "numbers": numbers,
            "port": listeners["tcp"].getsockname()[1],
            "udp_port": listeners["udp"].getsockname()[1],
            "abstract": f"posttrain-{os.getpid()}",
            "path": str(folder / "socket"),
            "canary": str(canary),
            "readable": [*_READ, str(canary), str(ROOT / "pyproject.toml")],
            "writable": [*_WRITE, str(canary), str(folder / "new")],
        }
        done = attack(workspace, "quick", given=json.dumps(given).replace('"', '\\"'))
        arrived = [name for name, one in listeners.items() if _has_news(one)]
    assert done.stderr == ""
    return Quick(json.loads(done.stdout), arrived)


def _has_news(listener: socket.socket) -> bool:
    listener.settimeout(0)
    try:
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(9)
        else:
            listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
