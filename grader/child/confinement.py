"""Confine learner code in a graded run, inside the forked child: it can compute, and write to one pipe.

The warm process prepares what a fork can inherit and gives up its own privileges; it never reads a job. The child
reads its job, which is only bytes, and calls `Confinement.enter` before it compiles any of it.
"""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from .linux_calls import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, prctl, syscall
from .seccomp import Filter

if sys.platform != "win32":  # where a doctor asks for Landlock all the same
    import resource

NOBODY = 65534  # the user and group of that name
RESULT = 3  # the descriptor of the reply's pipe once a child is confined

# Landlock: https://docs.kernel.org/userspace-api/landlock.html and `linux/landlock.h`.
CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same numbers on every architecture
VERSION_FLAG = 1
FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # refer, truncate, ioctl on devices
NETWORK = {4: 0b11}  # bind and connect by TCP
SCOPES = {6: 0b11}  # abstract unix sockets, signals


@dataclass(frozen=True)
class Confinement:
    """The layers that confine a child: prepared once in the warm process, entered by each of its children.

    Attributes:
        ruleset: the file descriptor of a Landlock ruleset. If it is `None`, the filter alone refuses files and
            connections.
        filter: the filter of system calls.
    """

    ruleset: int | None
    filter: Filter

    def enter(self, result: int) -> int:
        """Confine this process for the rest of its life: it can only compute, and write to one pipe.

        Args:
            result: the descriptor of that pipe.

        Returns:
            The new descriptor of the pipe; all other descriptors above stderr are closed.

        Raises:
            OSError: the kernel refuses a layer; no learner code may run then.
        """
        for kind in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
            resource.setrlimit(kind, (0, 0))
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        if self.ruleset is not None:
            restrict_self(self.ruleset)
        if result != RESULT:
            os.dup2(result, RESULT)
        os.closerange(RESULT + 1, os.sysconf("SC_OPEN_MAX"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (RESULT + 1, RESULT + 1))
        self.filter.apply()
        return RESULT


def prepare(*, with_landlock: bool) -> Confinement:
    """Prepare the warm process before its first fork: give up its privileges, forbid to trace it, build the layers.

    Args:
        with_landlock: whether a Landlock ruleset is one of the layers.

    Raises:
        OSError: the kernel refuses a layer.
        RuntimeError: another thread is running, which a fork would lose, or some memory can be both written and run.
    """
    if re.search(r"^\S+ .wx", Path("/proc/self/maps").read_text(), re.MULTILINE):
        raise RuntimeError("the warm process has memory that can be both written and run")
    drop_privileges()
    prctl(PR_SET_DUMPABLE, 0)
    if not re.search(r"^Threads:\s*1$", Path("/proc/self/status").read_text(), re.MULTILINE):
        raise RuntimeError("the warm process has more than one thread")
    return Confinement(deny_all_ruleset() if with_landlock else None, Filter(os.uname().machine))


def drop_privileges() -> None:
    """Become the user `nobody` for good, if this process is root; any other user stays who they are.

    Raises:
        PermissionError: the process is still root.
    """
    if os.geteuid() != 0 and os.getuid() != 0:
        return
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    if 0 in os.getresuid():
        raise PermissionError("the warm process is still root")


def landlock_version() -> int:
    """Return the version of Landlock that this kernel speaks; 0 if it has none or it is switched off."""
    try:
        return syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def forbidden_accesses(version: int) -> tuple[int, ...]:
    """Return all that a version of Landlock can forbid, as bits: file accesses, network accesses, scopes."""
    return tuple(sum(bits for since, bits in kind.items() if since <= version) for kind in (FILES, NETWORK, SCOPES))


def deny_all_ruleset() -> int:
    """Create a Landlock ruleset that forbids all that this kernel can forbid, and return its file descriptor."""
    attributes = struct.pack("=3Q", *forbidden_accesses(landlock_version()))  # `struct landlock_ruleset_attr`
    return syscall(CREATE_RULESET, attributes, len(attributes), 0)


def restrict_self(ruleset: int) -> None:
    """Put this thread under a Landlock ruleset for the rest of its life; `PR_SET_NO_NEW_PRIVS` must be set before.

    Args:
        ruleset: the file descriptor that `deny_all_ruleset` returned.
    """
    syscall(RESTRICT_SELF, ruleset, 0)
