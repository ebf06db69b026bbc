"""A Landlock ruleset in which nothing is allowed: no file, no connection, no signal to anybody outside.

Source: https://docs.kernel.org/userspace-api/landlock.html and `linux/landlock.h`.
"""

from __future__ import annotations

import errno
import struct

from .linux_calls import syscall

CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same numbers on every architecture
VERSION_FLAG = 1
FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # refer, truncate, ioctl on devices
NETWORK = {4: 0b11}  # bind and connect by TCP
SCOPES = {6: 0b11}  # abstract unix sockets, signals


def abi() -> int:
    """The version that this kernel speaks; 0 where it has none or it is switched off."""
    try:
        return syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def everything_forbidden(version: int) -> tuple[int, ...]:
    """Everything that this version can forbid: file accesses, network accesses, scopes."""
    return tuple(sum(bits for since, bits in kind.items() if since <= version) for kind in (FILES, NETWORK, SCOPES))


def deny_all_ruleset() -> int:
    """A new ruleset as a file descriptor: all that this kernel can forbid is forbidden."""
    attributes = struct.pack("=3Q", *everything_forbidden(abi()))  # `struct landlock_ruleset_attr`
    return syscall(CREATE_RULESET, attributes, len(attributes), 0)


def restrict_self(ruleset: int) -> None:
    """Put this thread under a ruleset, for ever; no_new_privs must be set."""
    syscall(RESTRICT_SELF, ruleset, 0)
