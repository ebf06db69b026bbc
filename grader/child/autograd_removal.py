"""Take torch's differentiation out of this process, for good: in a graded run it is absent, not forbidden.

The derivative of an operation lives in its kernel at the dispatcher's Autograd key. `remove` shadows each of them
with a fallthrough, so that an operation goes straight to its arithmetic and records nothing (it even gets faster).
What computes a derivative by itself, the `*_backward` operations, raises. `autograd_entrances` then closes the
doors in Python, and `autograd_probe` tries them all: if one of them opens, the worker does not start.

The dispatcher's registry is not a public interface: it is pinned to the torch versions it was tested with.
"""

from __future__ import annotations

import ctypes
import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.library import fallthrough_kernel

from grader.errors import InfrastructureError

from . import autograd_entrances, autograd_probe, import_ban
from .no_autograd import refuse

TESTED = ("2.13.0",)
"""The torch versions that tests/test_autograd_removal.py and tests/thorough/test_every_road.py were run with."""

DERIVATIVE = re.compile(r"backward|jvp|(^|::)_?(dirichlet|standard_gamma)_grad\b|_make_dual|get_gradients")
AUTOGRAD_KEYS = (
    "Autograd AutogradCPU AutogradMeta AutogradOther AutogradNestedTensor AutogradCUDA AutogradXLA AutogradXPU "
    "AutogradMPS AutogradHPU AutogradIPU AutogradLazy AutogradMTIA AutogradPrivateUse1 AutogradPrivateUse2 "
    "AutogradPrivateUse3 ADInplaceOrView"
).split()
UNLISTED_KEYS = ("MkldnnCPU", "Batched")  # that the dispatcher has and Python's list of them does not
Kernel = Callable[..., Any]


def remove() -> None:
    """Make differentiation impossible in this process and all it forks; call it once, before any job.

    Raises:
        InfrastructureError: this torch version was not tested, or a probe still got a gradient.
    """
    _check_version()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is being replaced is the point
        _remove_derivatives()
        autograd_entrances.close_entrances()
        import_ban.ban_imports()
        found = autograd_probe.working_probes()
    if found:
        raise InfrastructureError(f"torch can still differentiate here ({', '.join(found)}): nothing is graded.")


def _check_version() -> None:
    version = torch.__version__.split("+")[0]
    if version not in TESTED:
        tested = ", ".join(TESTED)
        raise InfrastructureError(
            f"graded runs were tested with torch {tested}, and this is torch {torch.__version__}: "
            f"run `pip install torch=={TESTED[-1]}`."
        )


def _remove_derivatives() -> None:
    """Shadow every kernel that records a derivative, and every operation that is one."""
    registry = _Registry()
    for key in AUTOGRAD_KEYS:
        for operation in _registered_at(key):
            registry.put(operation, key, fallthrough_kernel)
    for key in _other_keys():
        for operation in _registered_at(key):
            if DERIVATIVE.search(operation):
                registry.put(operation, key, refuse)


def _other_keys() -> list[str]:
    """Every key at which something may be computed: devices, decompositions, and what `vmap` makes of operations."""
    return [key for key in (*torch._C.DispatchKey.__members__, *UNLISTED_KEYS) if key not in AUTOGRAD_KEYS]


def _registered_at(key: str) -> list[str]:
    try:
        return list(torch._C._dispatch_get_registrations_for_dispatch_key(key))
    except RuntimeError:  # a key that this build of torch does not know
        return []


class _Registry:
    """Dispatcher registrations that nothing can take back: no Python object refers to them, and none frees them."""

    def __init__(self) -> None:
        self._libraries: dict[str, Any] = {}

    def put(self, operation: str, key: str, kernel: Kernel) -> None:
        """Let `namespace::operation` do this at a dispatch key."""
        namespace, name = operation.split("::")
        if namespace not in self._libraries:
            library = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
            self._libraries[namespace] = library
        self._libraries[namespace].impl(name, key, kernel, False)
