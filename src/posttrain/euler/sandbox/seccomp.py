"""The rules of `syscalls` as bubblewrap takes them, a BPF program, and as container engines do, a JSON profile."""

import os
import struct
from functools import cache
from typing import Any

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.syscalls import ENOSYS, Rule, rules

NEWEST = 452
"""fchmodat2, of Linux 6.6: numbers are common to all processors from 424 on. What is younger does not exist inside."""
_LOW_HALF = 0xFFFFFFFF
_LOAD_NUMBER, _JUMP_IF_GREATER, _RETURN = 0x20, 0x25, 0x06
_RETURN_ERROR = 0x00050000


@cache
def bpf() -> bytes:
    """The filter for this machine's processor; calls of another one's numbering end the process.

    Raises:
        InfrastructureError: pyseccomp or the C library that it calls is missing.
    """
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise InfrastructureError(
            f'no system call filter can be made ({error}); run `pip install "posttrain[euler]"` and '
            "`apt install libseccomp2`"
        ) from error
    program = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    program.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    for rule in rules():
        for name in rule.names:
            _add(pyseccomp, program, rule, name)
    with open(os.memfd_create("seccomp"), "w+b") as file:
        program.export_bpf(file)
        file.seek(0)
        return _unknown_calls_first() + file.read()


def _add(pyseccomp: Any, program: Any, rule: Rule, name: str) -> None:
    comparisons: tuple[Any, ...] = ()
    if rule.argument is not None:
        comparison = {
            "not equal": (pyseccomp.NE, rule.value),
            "has bits": (pyseccomp.MASKED_EQ, rule.value, rule.value),
            "low half equal": (pyseccomp.MASKED_EQ, _LOW_HALF, rule.value),
        }[rule.compare]
        comparisons = (pyseccomp.Arg(rule.argument, *comparison),)
    try:
        program.add_rule(pyseccomp.ERRNO(rule.error), name, *comparisons)
    except (OSError, ValueError) as error:
        # A call of another processor, or one that this libseccomp is too old to know: then the kernel's number for
        # it is either above NEWEST or none.
        if _is_known(pyseccomp, name):
            raise InfrastructureError(f"no system call filter can be made for {name}: {error}") from error


def _is_known(pyseccomp: Any, name: str) -> bool:
    try:
        return bool(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0)
    except (OSError, ValueError):
        return False


def _unknown_calls_first() -> bytes:
    """Instructions in front of libseccomp's, which cannot compare numbers of calls: those above NEWEST get ENOSYS.

    Jumps in BPF are relative, so that what follows stays right.
    """
    return b"".join(
        (
            struct.pack("=HBBI", _LOAD_NUMBER, 0, 0, 0),
            struct.pack("=HBBI", _JUMP_IF_GREATER, 0, 1, NEWEST),
            struct.pack("=HBBI", _RETURN, 0, 0, _RETURN_ERROR | ENOSYS),
        )
    )


def profile() -> dict[str, Any]:
    """The same rules as a profile for `--security-opt seccomp=FILE`, in the format of the OCI runtimes."""
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [_entry(rule) for rule in rules()]}


def _entry(rule: Rule) -> dict[str, Any]:
    entry: dict[str, Any] = {"names": list(rule.names), "action": "SCMP_ACT_ERRNO", "errnoRet": rule.error}
    if rule.argument is not None:
        comparison = {
            "not equal": {"value": rule.value, "op": "SCMP_CMP_NE"},
            "has bits": {"value": rule.value, "valueTwo": rule.value, "op": "SCMP_CMP_MASKED_EQ"},
            "low half equal": {"value": _LOW_HALF, "valueTwo": rule.value, "op": "SCMP_CMP_MASKED_EQ"},
        }[rule.compare]
        entry["args"] = [{"index": rule.argument, **comparison}]
    return entry
