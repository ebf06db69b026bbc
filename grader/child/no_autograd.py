"""Make torch's differentiation raise while a graded function runs, with the name of the function that was called.

This catches the honest attempt and names the rule. It is feedback, not a security boundary. A public function that a
file imported beforehand still raises, as the inner functions that it calls are replaced as well.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
import types
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NoReturn

import torch
import torch.nn.grad

MESSAGE = "{} is switched off here: write the gradient by hand"
FUNCTIONS = """
torch.Tensor.backward torch.autograd.backward torch.autograd.grad
torch.func.vjp torch.func.jvp torch.func.linearize
torch.autograd.functional.jacobian torch.autograd.functional.hessian torch.autograd.functional.vjp
torch.autograd.functional.jvp torch.autograd.functional.hvp torch.autograd.functional.vhp
torch.autograd.forward_ad.make_dual
""".split()
"""Functions that differentiate when they are called; a version of torch may lack some."""
TRANSFORMS = """
torch.func.grad torch.func.grad_and_value torch.func.jacrev torch.func.jacfwd torch.func.hessian
""".split()
"""Functions that return one that differentiates: a file may call them at its top, and their result raises."""
INNER = """
torch.autograd._engine_run_backward torch.autograd.graph._engine_run_backward
torch._functorch.eager_transforms.grad_increment_nesting torch._functorch.eager_transforms.jvp_increment_nesting
torch.autograd.forward_ad.enter_dual_level
""".split()
"""Inner functions that the public ones call, in one version or another: a kept reference to those raises here."""
OPERATION = re.compile(
    r"backward(?!s\b)|_[jv]jp|_(make|unpack)_dual\b|_dirichlet_grad|_standard_gamma_grad|get_gradients|accumulate_grad"
)
"""Operations that are derivatives; `aten::gradient` and `aten::diff` are plain arithmetic."""
MENTIONED = re.compile(rf"\bnn\.grad\b|\.(?!backward\b)\w*?(?:{OPERATION.pattern})")
USUAL_KEYS = ("CPU", "FuncTorchBatched")
PUBLIC = {"torch._functorch": "torch.func", "torch._tensor": "torch"}
"""The public module of a private module's functions."""


class AutogradUsed(Exception):
    """Learner code asked torch to differentiate."""


def refuse(*_args: object, **_kwargs: object) -> NoReturn:
    """Raise in place of an inner function of autograd, naming the public function of torch that called it.

    Raises:
        AutogradUsed: always.
    """
    raise AutogradUsed(MESSAGE.format(_called_function(sys._getframe(1)) or "torch's autograd"))


def raising_function(name: str) -> Callable[..., NoReturn]:
    """Return a function that raises `AutogradUsed` with a message that says that `name` is switched off."""

    def refuse_by_name(*_args: object, **_kwargs: object) -> NoReturn:
        """Raise `AutogradUsed` with the name of the function that this one replaces."""
        raise AutogradUsed(MESSAGE.format(name))

    return refuse_by_name


def _raising_kernel(operation: str) -> Callable[..., NoReturn]:
    """Return a kernel that raises `AutogradUsed` in place of a derivative such as `aten::tanh_backward`.

    The message names the public function of torch that called the operation, or the operation itself.
    """
    name = f"torch.ops.{operation.replace('::', '.')}"

    def refuse_operation(*_args: object, **_kwargs: object) -> NoReturn:
        """Raise `AutogradUsed` with the name of the public function that led to this operation."""
        raise AutogradUsed(MESSAGE.format(_called_function(sys._getframe(1), only_public=True) or name))

    return refuse_operation


def forbid() -> list[tuple[Any, str, Any]]:
    """Let every entry point to reverse and forward mode raise `AutogradUsed`.

    Returns:
        Owner, name and former value of each entry point that did not raise before.
    """
    changed = []
    for owner, name, stand_in in _autograd_entry_points():
        former = vars(owner)[name]
        if former is not stand_in:
            changed.append((owner, name, former))
            setattr(owner, name, stand_in)
    return changed


def refuse_operations(kernels: TorchKernels) -> None:
    """Register, for every operation that is a derivative and every dispatch key it has, a kernel that raises."""
    derivatives = {name: _raising_kernel(name) for name in operations() if OPERATION.search(name)}
    for key in dispatch_keys():
        usual = key in USUAL_KEYS  # where a kernel for a wider key, such as an alias, does not reach in every version
        for operation in derivatives if usual else derivatives.keys() & registrations(key):
            kernels.register(operation, key, derivatives[operation])


@contextmanager
def forbid_autograd(texts: Sequence[str]) -> Iterator[None]:
    """Let every entry point to reverse and forward mode raise `AutogradUsed` within this context.

    Operations that are derivatives raise as well if a text mentions one: each of them has to be replaced, which takes
    time, and which a graded run does once for all its jobs.

    Args:
        texts: the learner's sources.
    """
    changed, kernels = forbid(), TorchKernels()
    try:
        if changed and any(MENTIONED.search(text) for text in texts):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a kernel is being replaced is the point
                refuse_operations(kernels)
        yield
    finally:
        kernels.withdraw()
        for owner, name, former in changed:
            setattr(owner, name, former)


@cache
def _autograd_entry_points() -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return owner, name and raising replacement of each entry point to autograd that the installed torch has."""
    of_layers = [f"torch.nn.grad.{name}" for name in vars(torch.nn.grad) if name.endswith(("_input", "_weight"))]
    stand_ins: dict[str, Callable[..., Any]] = {name: raising_function(name) for name in (*FUNCTIONS, *of_layers)}
    stand_ins |= {name: _transform_of(raising_function(name)) for name in TRANSFORMS}
    stand_ins |= dict.fromkeys(INNER, refuse)
    entry_points = []
    for full_name, stand_in in stand_ins.items():
        owner_name, _, name = full_name.rpartition(".")
        owner = _find_owner(owner_name)
        if owner is not None and name in vars(owner):
            entry_points.append((owner, name, stand_in))
    return entry_points


def _transform_of(function: Callable[..., NoReturn]) -> Callable[..., Any]:
    """Return a function that returns `function`, whatever it is called with: the replacement of a transform."""
    return lambda *_args, **_kwargs: function


def _find_owner(name: str) -> Any:
    """Return the module of this name, or the class `torch.Tensor`; `None` if the installed torch has no such module."""
    if name == "torch.Tensor":
        return torch.Tensor
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _called_function(frame: types.FrameType | None, *, only_public: bool = False) -> str:
    """Return the name of the outermost function of torch, which learner code called; empty if there is none.

    Args:
        frame: the innermost frame; the frames of torch that lead to it are searched outwards.
        only_public: whether a private name is left out; otherwise it is returned where no frame has a public one.
    """
    names: list[tuple[str, bool]] = []
    while frame is not None and (module := str(frame.f_globals.get("__name__"))).partition(".")[0] == "torch":
        names.insert(0, public_name(module, frame.f_code.co_qualname))
        frame = frame.f_back
    public = [name for name, is_public in names if is_public]
    return next(iter(public or ([] if only_public else [name for name, _ in names])), "")


def public_name(module: str, qualname: str) -> tuple[str, bool]:
    """Return the name by which a reader knows a function of torch, and whether it is a public one."""
    parts = [part for part in qualname.partition(".<locals>")[0].split(".") if not part.startswith("__")]
    for private, public in PUBLIC.items():
        if f"{module}.".startswith(f"{private}.") and parts and hasattr(sys.modules[public], parts[0]):
            module = public
    name = ".".join([module, *parts])
    return name, not any(part.startswith("_") for part in name.split("."))


class TorchKernels:
    """A registry of kernels that replace those of torch's operations, until they are withdrawn or for good."""

    def __init__(self) -> None:
        """Begin without any registration."""
        self._libraries: dict[str, Any] = {}

    def register(self, operation: str, key: str, kernel: Any) -> None:
        """Register a kernel in front of the one that an operation has for a dispatch key.

        Args:
            operation: with its overload, such as `aten::add.Tensor`.
            key: one of `dispatch_keys()`; nothing is registered for a key that takes no kernels.
            kernel: a function with the operation's arguments, or torch's `fallthrough_kernel`.
        """
        namespace, name = operation.split("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
        with suppress(RuntimeError):  # of a key that takes no kernels of a single operation
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
    """Return the operations that have a kernel for a dispatch key; empty if this build of torch has no such key."""
    with suppress(RuntimeError):
        return torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return []
