"""System calls that Python's standard library does not offer; an `OSError` says that the kernel refuses one."""

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
    """Set an attribute of this process."""
    unused = ctypes.c_ulong(0)
    _checked(_LIBC.prctl(option, ctypes.c_ulong(value), pointer or unused, unused, unused), f"prctl {option}")


def syscall(number: int, *arguments: object) -> int:
    """Make a system call by number; plain integers are passed as longs."""
    longs = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *longs), f"system call {number}")


def fork() -> int:
    """As `os.fork`, in a process of one thread: no library prepares the child for threads or draws it a new seed."""
    return _checked(_fork(), "fork")


def malloc(size: int) -> int:
    """Take memory from C's allocator, for good: where it is."""
    _LIBC.malloc.restype = ctypes.c_void_p
    return _LIBC.malloc(ctypes.c_size_t(size)) or 0


def give_back_at_once(size: int) -> None:
    """Have C's allocator give back each piece of memory of this size or more when it is freed: it leaves no holes."""
    _LIBC.mallopt(M_MMAP_THRESHOLD, ctypes.c_int(size))


def huge_pages() -> None:
    """Gather the memory that is this process's own into huge pages, where the kernel (6.1 or later) can."""
    own = re.findall(r"^(\w+)-(\w+) rw-p", Path("/proc/self/maps").read_text(), re.MULTILINE)
    for first, end in ((int(first, 16), int(end, 16)) for first, end in own):
        _LIBC.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), MADV_COLLAPSE)


def children_of(pid: int) -> list[int]:
    """The numbers of a process's children, where `/proc` tells; an `OSError` where not."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _checked(result: int, what: str) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return int(result)
