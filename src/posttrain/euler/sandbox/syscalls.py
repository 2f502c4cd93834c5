"""The system calls that no program in a sandbox may make, by name, for both kinds of sandbox.

Most would fail without capabilities anyway. They are refused before the kernel looks at the arguments, because that
code is where its faults are found.
"""

from dataclasses import dataclass
from typing import Literal

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

REFUSED = {
    "asynchronous rings": "io_uring_setup io_uring_enter io_uring_register",
    "asynchronous requests, of which all users of a machine share a number": "io_setup io_submit io_pgetevents",
    "keys, which live outside namespaces": "add_key request_key keyctl",
    "programs in the kernel, and its counters": "bpf perf_event_open",
    "other processes' memory": "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd",
    "page faults handled by the program, and pages lent to a pipe": "userfaultfd vmsplice",
    "mounts": "mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick "
    "mount_setattr",
    "namespaces": "unshare setns",
    "files by handle, and watching others' files": "name_to_handle_at open_by_handle_at fanotify_init fanotify_mark "
    "lookup_dcookie quotactl quotactl_fd",
    "the kernel and its modules": "kexec_load kexec_file_load init_module finit_module delete_module create_module "
    "get_kernel_syms query_module reboot syslog acct swapon swapoff nfsservctl _sysctl sysfs ustat uselib vserver",
    "clocks and names": "settimeofday clock_settime clock_adjtime adjtimex stime sethostname setdomainname",
    "hardware": "iopl ioperm modify_ldt vm86 vm86old vhangup personality",
    "placement of memory": "mbind set_mempolicy set_mempolicy_home_node get_mempolicy migrate_pages move_pages",
    "memory that no process is charged with": "memfd_create memfd_secret shmget shmat shmctl shmdt msgget msgsnd "
    "msgrcv msgctl semget semop semctl semtimedop mq_open mq_unlink",
}
"""Why, and which; each fails with EPERM."""

_NAMESPACE_FLAGS = (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_AF_UNIX = 1
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into the terminal from which the sandbox was started."""


@dataclass(frozen=True)
class Rule:
    """Calls that fail with `error`, if `argument` compares so with `value`, or always."""

    names: tuple[str, ...]
    error: int = EPERM
    argument: int | None = None
    compare: Literal["not equal", "has bits", "low half equal"] = "not equal"
    value: int = 0


def rules() -> tuple[Rule, ...]:
    """Everything that is refused."""
    always = tuple(name for names in REFUSED.values() for name in names.split())
    return (
        Rule(always),
        # Its flags lie in memory, where no filter can look; told that there is none, the C library takes clone.
        Rule(("clone3",), error=ENOSYS),
        *(Rule(("clone",), argument=0, compare="has bits", value=flag) for flag in _NAMESPACE_FLAGS),
        # There is no network to reach; this also takes away vsock, which no namespace holds, raw sockets and netlink.
        Rule(("socket", "socketpair"), error=EAFNOSUPPORT, argument=0, compare="not equal", value=_AF_UNIX),
        *(Rule(("ioctl",), argument=1, compare="low half equal", value=number) for number in _TERMINAL_INPUT),
    )
