"""Make torch's differentiation raise: during the call of a graded function, or in this process for good.

`forbid_autograd` catches the honest attempt in a check, and names the function that was called. A public function that
a file imported beforehand still raises, as the inner functions that it calls are replaced as well.

`remove_autograd` keeps the rule "no autograd" in a graded run, by four means. Each of them holds for every torch, as it
looks at the one that is running:

- the kernels that record an operation for a backward pass are passed by, so nothing is ever recorded;
- every operation that is a derivative (`*_backward`, forward mode) raises, however it is called;
- the names that lead to a derivative raise, and so do those that make functions out of scripts, which torch
  differentiates by itself;
- formulas that are written in Python lose their code.

Where a version of torch lacks the API for one of them, the others suffice. Each names the function that was called.
None of this is part of the security boundary: code that uses pointers can reach compiled functions (see SECURITY.md).
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
import types
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NoReturn

import torch
import torch._decomp
import torch.masked
import torch.nn.grad
from torch.library import fallthrough_kernel

from grader.errors import InfrastructureError

from . import preloaded_modules

MESSAGE = "{} is switched off here: differentiate by hand"
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
FORMULA_MODULES = tuple(
    "torch._decomp torch.nn.grad torch.masked torch._functorch.autograd_function torch._higher_order_ops "
    "torch._lobpcg torch._native torch.nn.attention torch.distributions.dirichlet".split()
)
FORMULA = re.compile(r"backward|jvp|vjp|_input$|_weight$")
ENTRIES = re.compile(
    r"_(grad|jvp)_increment_nesting$|_(un)?wrap_for_grad$|_enter_dual_level$|_ImperativeEngine$"
    r"|_jit_(differentiate|script_compile)|_create_function_from|_?import_ir_module|parse_ir$|autodiff"
)
"""Names of torch's compiled modules that lead to a derivative, or make a function of a script."""
METHODS = {
    "CompilationUnit": ("__init__", "define", "create_function"),
    "ScriptModule": ("_define", "_create_method_from_trace", "_create_method_from_trace_with_dict"),
}
"""Methods of compiled classes that do the same; they are replaced in the class, to which every module refers."""
LACKING_API = (AttributeError, RuntimeError, TypeError, ImportError)
"""Raised where the torch that is running lacks an API of another version."""


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
    """Register for every operation that is a derivative a kernel that raises `AutogradUsed`.

    It is registered for each of `USUAL_KEYS`, and for each other dispatch key for which the operation has a kernel.

    Args:
        kernels: the kernels of one context, which withdraws them at its end; the new ones are added to it.
    """
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
    """Return the name of the outermost function of torch on the stack, which learner code called.

    Empty if there is none.

    Args:
        frame: the innermost frame; from here outwards, the frames of torch are searched.
        only_public: whether the name must be public; otherwise a private name is returned where no frame has a public
            one.
    """
    names: list[tuple[str, bool]] = []
    while frame is not None and (module := str(frame.f_globals.get("__name__"))).partition(".")[0] == "torch":
        names.insert(0, public_name(module, frame.f_code.co_qualname))
        frame = frame.f_back
    public = [name for name, is_public in names if is_public]
    return next(iter(public or ([] if only_public else [name for name, _ in names])), "")


def public_name(module: str, qualname: str) -> tuple[str, bool]:
    """Return the full public name of a function of torch, such as `torch.autograd.grad`, and whether it is public.

    Args:
        module: the name of the module that defines it.
        qualname: the qualified name of the function in its module; parts such as `__call__` are left out.
    """
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


def remove_autograd() -> None:
    """Switch differentiation off in this process and all that it forks; called once, before any job.

    Raises:
        InfrastructureError: a call in `ROADS` still computes a gradient.
    """
    kernels = TorchKernels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is being replaced is the point
        for replace in (_bypass_recording, refuse_operations):
            with suppress(*LACKING_API):
                replace(kernels)
    kernels.keep_for_good()
    _remove_code(_derivative_functions())
    forbid()
    _disable_compiled_entries()
    preloaded_modules.ban()
    if still_open := [road for road, call in ROADS.items() if not _raises(call)]:
        raise InfrastructureError(
            f"torch {torch.__version__} can still differentiate here ({', '.join(still_open)}), "
            "and a graded run forbids it: install another torch, and report this one."
        )


def _bypass_recording(kernels: TorchKernels) -> None:
    """Register a fallthrough in front of every kernel that records an operation for a backward pass."""
    for key in dispatch_keys():
        if key.startswith("Autograd") or key == "ADInplaceOrView":
            for operation in registrations(key):
                kernels.register(operation, key, fallthrough_kernel)


def _disable_compiled_entries() -> None:
    """Replace torch's compiled functions that compute a derivative by functions that raise, in all of its modules."""
    stand_ins: dict[int, Any] = {}
    for compiled in ("torch._C", "torch._C._functorch"):
        for name, entry in vars(sys.modules.get(compiled, object)).items():
            if ENTRIES.search(name) and callable(entry):
                stand_ins[id(entry)] = raising_function(f"{compiled}.{name}")
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" and isinstance(module, types.ModuleType):
            places = [key for key, value in vars(module).items() if id(value) in stand_ins]
            for key in places:
                setattr(module, key, stand_ins[id(vars(module)[key])])
    for kind, methods in METHODS.items():
        for method in methods:
            with suppress(*LACKING_API):
                setattr(
                    getattr(torch._C, kind),
                    method,
                    raising_function(f"torch._C.{kind}.{method}".removesuffix(".__init__")),
                )
    with suppress(*LACKING_API):
        torch.autograd.Variable._execution_engine = _Engine()  # type: ignore[assignment]
    _disable_script_operations()


class _Engine:
    """Raise in place of the engine that runs a backward pass."""

    run_backward = staticmethod(raising_function("torch.autograd.Variable._execution_engine.run_backward"))
    queue_callback = staticmethod(raising_function("torch.autograd.Variable._execution_engine.queue_callback"))


def _disable_script_operations() -> None:
    """Make the operations raise that only scripts call and that run a backward pass: `aten::grad`, `aten::backward`."""
    with suppress(*LACKING_API):
        original = torch._C._jit_get_operation

        def get_operation(name: str) -> Any:
            """Return torch's operation of this name; raise `AutogradUsed` if it runs a backward pass."""
            return raising_function(name)() if name in ("aten::grad", "aten::backward") else original(name)

        torch._C._jit_get_operation = get_operation  # type: ignore[assignment]


def _derivative_functions() -> Iterator[Any]:
    """Yield every Python function of torch that computes a derivative, the `backward` of each `Function` included."""
    for name, module in list(sys.modules.items()):
        if name.startswith(FORMULA_MODULES):
            yield from (value for key, value in vars(module).items() if FORMULA.search(key))
    for table in getattr(torch._decomp, "global_decomposition_table", {}).values():
        yield from (rule for operation, rule in table.items() if FORMULA.search(str(operation)))
    for transform in _subclasses(torch.distributions.Transform):
        yield vars(transform).get("log_abs_det_jacobian")
    for function in _subclasses(torch.autograd.Function):
        members = (vars(function).get(name) for name in ("backward", "vjp", "jvp"))
        yield from (getattr(member, "__func__", member) for member in members)


def _subclasses(kind: Any) -> Iterator[Any]:
    """Yield every class that is derived from `kind`, directly or not."""
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _remove_code(formulas: Iterable[Any]) -> None:
    """Make functions, and the derivative functions that they wrap, raise `AutogradUsed`, by replacing their code.

    The function objects stay the same, so that whoever kept a reference to one gets no further. Their attributes are
    deleted.
    """
    pending, seen = list(formulas), set()
    while pending:
        function = pending.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # an empty cell
                if FORMULA.search(getattr(cell.cell_contents, "__name__", "")):
                    pending.append(cell.cell_contents)
        name, _ = public_name(function.__module__, function.__qualname__)
        removed = _raise_removed.__code__
        constants = tuple(name if value == "NAME" else value for value in removed.co_consts)
        function.__code__ = removed.replace(co_freevars=function.__code__.co_freevars, co_consts=constants)
        vars(function).clear()


def _raise_removed(*_arguments: object, **_options: object) -> NoReturn:
    """Raise `AutogradUsed` with the name of the function that has this code: the template for `_remove_code`.

    `_remove_code` replaces the constant `"NAME"` in a copy of this code by that name, and gives the function the copy.
    """
    # it runs among the globals of the function whose code it replaces
    from grader.child.no_autograd import raising_function  # absolute, for it is imported from anywhere

    raising_function("NAME")()


def _gradient_leaf() -> torch.Tensor:
    """Return a tensor of ones, shape (2,), that requires a gradient."""
    return torch.ones(2, requires_grad=True)


ROADS: dict[str, Callable[[], object]] = {
    "backward": lambda: torch.Tensor.backward((_gradient_leaf() * 2).sum()),  # type: ignore[no-untyped-call]
    "autograd.grad": lambda: torch.autograd.grad((_gradient_leaf() * 2).sum(), _gradient_leaf()),
    "torch.func": lambda: torch.func.grad(torch.sum)(torch.ones(2)),
    "forward mode": lambda: torch.func.jvp(torch.sum, (torch.ones(2),), (torch.ones(2),)),
    "an operation": lambda: torch.ops.aten.threshold_backward(torch.ones(2), torch.ones(2), 0),
    "a decomposition": lambda: torch._decomp.decompositions.tanh_backward(torch.ones(2), torch.ones(2)),
}
"""Attempts that an honest learner may make, by their name in an error message; each must raise, in any torch."""


def _raises(call: Callable[[], object]) -> bool:
    """Return whether a call raises an exception of any type."""
    try:
        call()
    except Exception:  # each of the means raises its own
        return True
    return False
