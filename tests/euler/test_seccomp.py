"""The filter as bytes and as a profile, which say the same."""

import struct

import pytest

from posttrain.euler.sandbox.seccomp import NEWEST, bpf, profile
from posttrain.euler.sandbox.syscalls import ENOSYS, EPERM, REFUSED, rules

pyseccomp = pytest.importorskip("pyseccomp", reason="pyseccomp is not installed")

ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000
HERE = {"x86_64": 0xC000003E, "i386": 0x40000003, "aarch64": 0xC00000B7}


def ruling(number: int, arch: int | None = None, arguments: tuple[int, ...] = ()) -> int:
    """What the filter answers, by running it: BPF is a small machine."""
    words = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=iIQ6Q", number, pyseccomp.system_arch() if arch is None else arch, 0, *words)
    program = list(struct.iter_unpack("=HBBI", bpf()))
    accumulator, here = 0, 0
    while True:
        code, if_true, if_false, value = program[here]
        here += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code == 0x05:
            here += value
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value}[code]
            here += if_true if holds else if_false


def number(name: str) -> int:
    return int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name))


def test_every_named_call_is_refused() -> None:
    for name in " ".join(REFUSED.values()).split():
        if 0 <= number(name) <= NEWEST:
            assert ruling(number(name)) == ERROR | EPERM, name


@pytest.mark.parametrize(
    "name", ["read", "write", "openat", "mmap", "futex", "execve", "exit_group", "prlimit64", "wait4"]
)
def test_what_programs_need_is_allowed(name: str) -> None:
    assert ruling(number(name)) == ALLOW


def test_arguments_decide_about_some() -> None:
    assert ruling(number("clone"), arguments=(0x01200011,)) == ALLOW  # a fork
    assert ruling(number("clone"), arguments=(0x003D0F00,)) == ALLOW  # a thread
    assert ruling(number("clone"), arguments=(0x10000011,)) == ERROR | EPERM
    assert ruling(number("clone3")) == ERROR | ENOSYS
    assert ruling(number("socket"), arguments=(1,)) == ALLOW
    assert ruling(number("socket"), arguments=(2,)) & 0xFFFF0000 == ERROR
    assert ruling(number("socket"), arguments=(1 + (1 << 32),)) & 0xFFFF0000 == ERROR
    assert ruling(number("socketpair"), arguments=(1,)) == ALLOW
    assert ruling(number("socketpair"), arguments=(30,)) & 0xFFFF0000 == ERROR
    assert ruling(number("ioctl"), arguments=(0, 0x5413)) == ALLOW
    assert ruling(number("ioctl"), arguments=(0, 0x5412)) == ERROR | EPERM
    assert ruling(number("ioctl"), arguments=(0, 0x5412 + (1 << 40))) == ERROR | EPERM


def test_other_numberings_end_the_process_and_young_calls_do_not_exist() -> None:
    for name, arch in HERE.items():
        if arch != pyseccomp.system_arch() & 0xFFFFFFFF:
            assert ruling(1, arch=arch) == KILL, name
    assert ruling(NEWEST + 1) == ERROR | ENOSYS
    assert ruling(0x40000000 + 1) == ERROR | ENOSYS  # x32


def test_the_profile_of_containers_says_the_same() -> None:
    entries = profile()["syscalls"]
    assert profile()["defaultAction"] == "SCMP_ACT_ALLOW"
    assert len(entries) == len(rules())
    assert entries[0] == {"names": list(rules()[0].names), "action": "SCMP_ACT_ERRNO", "errnoRet": EPERM}
    socket = next(entry for entry in entries if "socket" in entry["names"])
    assert socket["args"] == [{"index": 0, "value": 1, "op": "SCMP_CMP_NE"}]
    assert {"op": "SCMP_CMP_MASKED_EQ", "index": 0, "value": 0x10000000, "valueTwo": 0x10000000} in [
        one for entry in entries for one in entry.get("args", [])
    ]
