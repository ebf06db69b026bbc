"""Calls of Linux and of its C library that Python's standard library does not offer.

Each raises an `OSError` if the kernel refuses it.
"""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import Any

_LIBC: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
_fork: Any = ctypes.PyDLL(None, use_errno=True).fork if os.name == "posix" else None  # with the lock of the interpreter

MADV_COLLAPSE = 25
M_MMAP_THRESHOLD = -3

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def prctl(option: int, value: int, pointer: object = None) -> None:
    """Set an attribute of this process.

    Args:
        option: one of the `PR_` numbers.
        value: the option's first argument.
        pointer: the option's second argument, if it takes one.
    """
    unused = ctypes.c_ulong(0)
    _check_result(_LIBC.prctl(option, ctypes.c_ulong(value), pointer or unused, unused, unused), f"prctl {option}")


def syscall(number: int, *arguments: object) -> int:
    """Make a system call and return its result.

    Args:
        number: the number of the call on this machine.
        arguments: integers, which are passed as C longs, and whatever else `ctypes` can pass.
    """
    longs = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _check_result(_LIBC.syscall(ctypes.c_long(number), *longs), f"system call {number}")


def fork() -> int:
    """Fork this process, as `os.fork` does, but without the handlers that libraries registered for a fork.

    Only for a process of one thread: the handlers would reset locks, and draw the child a new random seed.
    """
    return _check_result(_fork(), "fork")


def malloc(size: int) -> int:
    """Allocate `size` bytes by C's allocator, never to be freed, and return their address; 0 if there is no memory."""
    _LIBC.malloc.restype = ctypes.c_void_p
    return _LIBC.malloc(ctypes.c_size_t(size)) or 0


def return_freed_blocks(size: int) -> None:
    """Make C's allocator return each block of `size` bytes or more to the system as soon as it is freed."""
    _LIBC.mallopt(M_MMAP_THRESHOLD, ctypes.c_int(size))


def gather_huge_pages() -> None:
    """Gather the private writable memory of this process into huge pages, if the kernel (6.1 or later) can do so."""
    own = re.findall(r"^(\w+)-(\w+) rw-p", Path("/proc/self/maps").read_text(), re.MULTILINE)
    for first, end in ((int(first, 16), int(end, 16)) for first, end in own):
        _LIBC.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), MADV_COLLAPSE)


def children_of(pid: int) -> list[int]:
    """Return the process ids of a process's children.

    Raises:
        OSError: the process has ended, or the system has no `/proc`.
    """
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _check_result(result: int, call: str) -> int:
    """Return the result of a call of C's library; raise an `OSError` that names the call if the result is -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return int(result)
