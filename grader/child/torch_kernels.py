"""Put kernels of one's own in front of those that torch's operations have, as the running torch lists them."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Collection
from typing import Any

import torch


class TorchKernels:
    """Register kernels for torch's operations until they are withdrawn, or for good."""

    def __init__(self) -> None:
        """Begin without any registration."""
        self._libraries: dict[str, Any] = {}

    def register(self, operation: str, key: str, kernel: Any) -> None:
        """Register a kernel in front of the one that an operation has for a dispatch key.

        Args:
            operation: with its overload, such as `aten::add.Tensor`.
            key: one of `dispatch_keys()`; a key that takes no kernels is left alone.
        """
        namespace, name = operation.split("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
        with contextlib.suppress(RuntimeError):  # a key that takes no kernels of an operation's own
            self._libraries[namespace].impl(name, key, kernel, False)

    def withdraw(self) -> None:
        """Remove all registrations, so that the operations have their former kernels again."""
        for library in self._libraries.values():
            library.reset()
        self._libraries.clear()

    def keep_for_good(self) -> None:
        """Keep the registrations for the life of the process, without a reference by which they could be withdrawn."""
        for library in self._libraries.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # they last as long as it does
        self._libraries.clear()


def dispatch_keys() -> Collection[str]:
    """Return the names of the dispatch keys that a kernel may be registered for."""
    return torch._C.DispatchKey.__members__


def operations() -> list[str]:
    """Return the full name of every operation, such as `aten::add.Tensor`."""
    return torch._C._dispatch_get_all_op_names()


def registrations(key: str) -> list[str]:
    """Return the operations that have a kernel for a dispatch key; none if this build does not know the key."""
    with contextlib.suppress(RuntimeError):
        return torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return []
