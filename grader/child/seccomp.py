"""The system calls that learner code may make in a graded run. Every other one fails with EPERM.

The filter is a classic BPF program (`linux/filter.h`, `linux/seccomp.h`) over one 64-byte `struct seccomp_data`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from .linux_calls import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl

ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
MODE_FILTER = 2
X32_BIT = 0x40000000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in `struct seccomp_data`
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
ALL = 0xFFFFFFFF
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (number on x86_64, number on aarch64)
CALLS: Mapping[str, tuple[int, int]] = {
    # its result, and the descriptors it was given
    "read": (0, 63), "write": (1, 64), "writev": (20, 66), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62),
    # memory: never `mremap` or `mprotect`, which make code of memory, and memory that no limit counts of code
    "munmap": (11, 215), "brk": (12, 214),
    # its own signals and timers
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "getitimer": (36, 102), "setitimer": (38, 103), "restart_syscall": (219, 128),
    # time
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "times": (100, 153), "getrusage": (98, 165),
    # questions about itself
    "getpid": (39, 172), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176),
    "getegid": (108, 177), "uname": (63, 160), "getcwd": (79, 17), "getrandom": (318, 278),
    "sched_yield": (24, 124),
    # the end
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip


@dataclass(frozen=True)
class Only:
    """A condition on one argument of a system call: `argument & mask` is one of `values`.

    Attributes:
        argument: the position of the argument, from 0.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = ALL


@dataclass(frozen=True)
class Filtered:
    """A system call that is allowed only if its arguments fulfil all conditions.

    Attributes:
        numbers: the number of the call on x86_64, and that on aarch64.
    """

    numbers: tuple[int, int]
    arguments: tuple[Only, ...]


PROT_EXEC, MAP_TYPE, MAP_PRIVATE, MAP_GROWSDOWN = 4, 15, 2, 256
ITSELF = Only(0, (0,))
OWN_CLOCK = Only(0, (0,), ALL - 15)  # those of other processes have numbers that are negative
FILTERED: Mapping[str, Filtered] = {
    # what counts as the process's own data: shared memory does not, nor do stacks
    "mmap": Filtered((9, 222), (Only(2, (0,), PROT_EXEC), Only(3, (MAP_PRIVATE,), MAP_TYPE | MAP_GROWSDOWN))),
    "madvise": Filtered((28, 233), (Only(2, (14, 15)),)),  # HUGEPAGE, NOHUGEPAGE: allocators ask for no more than these
    "futex": Filtered((202, 98), (Only(1, (0, 1, 9, 10), ALL & ~(128 | 256)),)),  # plain waiting and waking
    "fcntl": Filtered((72, 25), (Only(1, (1, 2, 3)),)),  # F_GETFD, F_SETFD, F_GETFL; never F_SETOWN, F_SETSIG, F_SETFL
    "ioctl": Filtered((16, 29), (Only(1, (0x5401, 0x5451)),)),  # TCGETS (isatty), FIOCLEX
    "sched_getaffinity": Filtered((204, 123), (ITSELF,)),
    "clock_gettime": Filtered((228, 113), (OWN_CLOCK,)),
    "clock_getres": Filtered((229, 114), (OWN_CLOCK,)),
    "clock_nanosleep": Filtered((230, 115), (OWN_CLOCK,)),
}


def program(machine: str) -> bytes:
    """Return the filter for a machine, such as `"x86_64"`, as the bytes of an array of `struct sock_filter`.

    Args:
        machine: one of `MACHINES`.
    """
    code = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, MACHINES[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    column = list(MACHINES).index(machine)
    if machine == "x86_64":
        code += [(AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    for rule in (*FILTERED.values(), *(Filtered(numbers, ()) for numbers in CALLS.values())):
        code += _rule_instructions(rule, rule.numbers[column])
    code.append((RETURN, 0, 0, REFUSE))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _rule_instructions(rule: Filtered, number: int) -> list[tuple[int, int, int, int]]:
    """Return the instructions that allow a system call under its conditions, and refuse it otherwise.

    They compare the low word of each argument: of these arguments the kernel reads no more, or the high word is
    harmless. An instruction is four numbers: code, jump if true, jump if false, constant; a jump is the number of
    instructions to skip.

    Args:
        rule: the conditions.
        number: the number of the call on this machine.
    """
    check: list[tuple[int, int, int, int]] = []
    for only in rule.arguments:
        check += [(LOAD, 0, 0, ARGUMENTS + 8 * only.argument), (AND, 0, 0, only.mask)]
        check += [(EQUAL, len(only.values) - before, 0, value) for before, value in enumerate(only.values)]
        check.append((RETURN, 0, 0, REFUSE))
    check.append((RETURN, 0, 0, ALLOW))
    return [(EQUAL, 0, len(check), number), *check]


class Filter:
    """Hold the filter of a machine's system calls as a program in memory, which a child puts in force after the fork.

    Args:
        machine: one of `MACHINES`.
    """

    def __init__(self, machine: str) -> None:
        """Put the filter for an architecture, such as `"x86_64"`, into memory; it is not in force yet."""
        content = program(machine)
        self.buffer = ctypes.create_string_buffer(content, len(content))
        self.program = struct.pack("HP", len(content) // 8, ctypes.addressof(self.buffer))  # `struct sock_fprog`

    def apply(self) -> None:
        """Filter this thread's system calls for the rest of its life; `PR_SET_NO_NEW_PRIVS` must be set before.

        Raises:
            OSError: the kernel refuses the filter.
        """
        prctl(PR_SET_SECCOMP, MODE_FILTER, self.program)


def unavailable_reason() -> str:
    """Return why system calls cannot be filtered on this machine.

    Empty if they can, which is tried in a child process.
    """
    machine = os.uname().machine if sys.platform == "linux" else sys.platform
    if machine not in MACHINES or sys.maxsize < 1 << 32:
        return f"there is no table of system calls for {machine}"
    pid = os.fork()  # not that of `linux_calls`: this process may have threads
    if pid == 0:
        os._exit(_refusal(machine))
    number = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return f"the kernel has no seccomp filters ({os.strerror(abs(number))})" if number else ""


def _refusal(machine: str) -> int:
    """Put the filter for an architecture, such as `"x86_64"`, in force in this process.

    Returns:
        The number of the error if the system refuses it, or if it has no effect; 0 if it works.
    """
    try:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        Filter(machine).apply()
    except OSError as error:
        return error.errno or errno.EINVAL
    with contextlib.suppress(PermissionError):
        os.getpgid(0)
        return errno.ENOSYS
    return 0
