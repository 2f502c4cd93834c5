"""Runs inside: tries everything that needs one call, and prints what came of each try as JSON.

GIVEN is, as JSON: the numbers of system calls, what the host listens on, and where its canary lies.
"""

import contextlib
import ctypes
import errno
import glob
import json
import os
import socket
from functools import partial

CANARY = "canary-in-the-environment"
given = json.loads("@GIVEN@")
libc = ctypes.CDLL(None, use_errno=True)
found = {}


def attempt(name, work):
    try:
        found[name] = str(work())
    except OSError as error:
        found[name] = errno.errorcode.get(error.errno, type(error).__name__)


def call(name, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(given["numbers"][name], *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return "done"


def reach(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(1)
        one.connect(address)
        one.send(b"out")
        return "done"


def opened(path, mode):
    with open(path, mode) as file:
        return "done" if mode != "r" or file.read(1) else "empty"


def everything_of(pattern):
    said = b""
    for path in glob.glob(pattern):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            said += file.read()
    return said


def filled(size):
    return ctypes.create_string_buffer(size)


port, udp_port, abstract, path = given["port"], given["udp_port"], given["abstract"], given["path"]
attempt("tcp", lambda: reach(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)))
attempt("udp", lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", udp_port)))
attempt("tcp 6", lambda: reach(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port)))
attempt("abstract socket", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract))
attempt("socket in a folder", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, path))
attempt("dns", lambda: socket.getaddrinfo("posttrain.invalid", 80) and "done")
attempt("vsock", lambda: reach(40, socket.SOCK_STREAM, (2, 1)) if hasattr(socket, "AF_VSOCK") else "EAFNOSUPPORT")
attempt("vsock made", lambda: socket.socket(40, socket.SOCK_STREAM) and "done")
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) and "done")
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW) and "done")
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) and "done")

for path in given["readable"]:
    attempt(f"read {path}", partial(opened, path, "r"))
for path in given["writable"]:
    attempt(f"write {path}", partial(opened, path, "a"))
attempt("hard link", lambda: os.link("/usr/bin/cat", "/workspace/env") or "done")
attempt("mknod", lambda: os.mknod("/workspace/disk", 0o60666, os.makedev(254, 0)) or "done")
attempt("chown", lambda: os.chown("/workspace", 0, 0) or "done")
attempt("setuid", lambda: os.setuid(0) or "done")

number, key = ctypes.c_int, ctypes.c_char_p
attempt("io_uring_setup", lambda: call("io_uring_setup", 8, filled(120)))
attempt("add_key", lambda: call("add_key", key(b"user"), key(b"k"), key(b"v"), 1, number(-3)))
attempt("keyctl", lambda: call("keyctl", 0, number(-3), 1))
attempt("ptrace", lambda: call("ptrace", 0, 0, 0, 0))
attempt("userfaultfd", lambda: call("userfaultfd", 1))
attempt("unshare", lambda: call("unshare", 0x400))
attempt("unshare user", lambda: call("unshare", 0x10000000))
attempt("mount", lambda: call("mount", key(b"none"), key(b"/tmp"), key(b"tmpfs"), 0, 0))
attempt("umount2", lambda: call("umount2", key(b"/proc"), 2))
attempt("chroot", lambda: call("chroot", key(b"/tmp")))
attempt("pivot_root", lambda: call("pivot_root", key(b"/tmp"), key(b"/tmp")))
attempt("setns", lambda: call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0))
attempt("bpf", lambda: call("bpf", 0, filled(128), 128))
attempt("perf_event_open", lambda: call("perf_event_open", filled(128), 0, number(-1), number(-1), 0))
attempt("memfd_create", lambda: call("memfd_create", key(b"m"), 0))
attempt("shmget", lambda: call("shmget", 0, 4096, 0o1600))
attempt("personality", lambda: call("personality", 0xFFFFFFFF))
attempt("process_vm_readv", lambda: call("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0))
attempt("clone3", lambda: call("clone3", 0, 0))
attempt("kexec_load", lambda: call("kexec_load", 0, 0, 0, 0))
attempt("init_module", lambda: call("init_module", 0, 0, key(b"")))
attempt("a call from the future", lambda: call("from the future", 0))

status = dict(line.split(":\t") for line in everything_of("/proc/self/status").decode().splitlines() if ":\t" in line)
found["capabilities"] = status["CapEff"].strip("0\n") + status["CapBnd"].strip("0\n")
found["no new privileges"] = status["NoNewPrivs"].strip()
environments, commands = everything_of("/proc/*/environ"), everything_of("/proc/*/cmdline")
found["secret in the environment"] = str(CANARY.encode() in environments or CANARY in str(os.environ))
found["secret in a command"] = str(any(word.encode() in commands for word in ("pytest", "ro-bind", given["canary"])))
found["secret in a mount"] = str(os.path.dirname(given["canary"]).encode() in everything_of("/proc/self/mountinfo"))
print(json.dumps(found))
