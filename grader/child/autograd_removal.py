"""Switch torch's differentiation off in this process, for good: the rule "no autograd" of a graded run.

Four means, each of which holds for every torch, as each looks at the one that is running:

- the kernels that record an operation for a backward pass are passed by, so nothing is ever recorded;
- every operation that is a derivative (`*_backward`, forward mode) raises, however it is called;
- the names that lead to a derivative raise, and so do those that make functions out of scripts, which torch
  differentiates by itself;
- formulas that are written in Python lose their code.

Where a version of torch lacks the API for one of them, the others suffice. Each names the function that was called.
None of this is part of the security boundary: code that uses pointers can reach compiled functions (see SECURITY.md).
"""

from __future__ import annotations

import contextlib
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import torch
import torch._decomp
import torch.masked
import torch.nn.grad
from torch.library import fallthrough_kernel

from grader.errors import InfrastructureError

from . import no_autograd, preloaded_modules
from .no_autograd import TorchKernels, dispatch_keys, public_name, raising_function, registrations

MODULES = tuple(
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
ABSENT = (AttributeError, RuntimeError, TypeError, ImportError)  # raised where this torch lacks an API of another one


def remove() -> None:
    """Switch differentiation off in this process and all that it forks; called once, before any job.

    Raises:
        InfrastructureError: a call in `ROADS` still computes a gradient.
    """
    kernels = TorchKernels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is being replaced is the point
        for replace in (_bypass_recording, no_autograd.refuse_operations):
            with contextlib.suppress(*ABSENT):
                replace(kernels)
    kernels.keep_for_good()
    _remove_code(_derivative_functions())
    no_autograd.forbid()
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
    """Replace the compiled functions that lead to a derivative by raising ones, in every module that refers to them."""
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
            with contextlib.suppress(*ABSENT):
                setattr(
                    getattr(torch._C, kind),
                    method,
                    raising_function(f"torch._C.{kind}.{method}".removesuffix(".__init__")),
                )
    with contextlib.suppress(*ABSENT):
        torch.autograd.Variable._execution_engine = _Engine()  # type: ignore[assignment]
    _disable_script_operations()


class _Engine:
    """Raise in place of the engine that runs a backward pass."""

    run_backward = staticmethod(raising_function("torch.autograd.Variable._execution_engine.run_backward"))
    queue_callback = staticmethod(raising_function("torch.autograd.Variable._execution_engine.queue_callback"))


def _disable_script_operations() -> None:
    """Let the operations raise that only scripts have and that run a backward pass: `aten::grad`, `aten::backward`."""
    with contextlib.suppress(*ABSENT):
        original = torch._C._jit_get_operation

        def get_operation(name: str) -> Any:
            """Return torch's operation of this name; raise `AutogradUsed` if it runs a backward pass."""
            return raising_function(name)() if name in ("aten::grad", "aten::backward") else original(name)

        torch._C._jit_get_operation = get_operation  # type: ignore[assignment]


def _derivative_functions() -> Iterator[Any]:
    """Yield every Python function of torch that computes a derivative, the `backward` of each `Function` included."""
    for name, module in list(sys.modules.items()):
        if name.startswith(MODULES):
            yield from (value for key, value in vars(module).items() if FORMULA.search(key))
    for table in getattr(torch._decomp, "global_decomposition_table", {}).values():
        yield from (rule for operation, rule in table.items() if FORMULA.search(str(operation)))
    for transform in _subclasses(torch.distributions.Transform):
        yield vars(transform).get("log_abs_det_jacobian")
    for function in _subclasses(torch.autograd.Function):
        members = (vars(function).get(name) for name in ("backward", "vjp", "jvp"))
        yield from (getattr(member, "__func__", member) for member in members)


def _subclasses(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _remove_code(formulas: Iterable[Any]) -> None:
    """Let functions, and the derivative functions that they wrap, raise `AutogradUsed`, by replacing their code.

    The function objects stay the same, so whoever kept a reference to one gets no further.
    """
    pending, seen = list(formulas), set()
    while pending:
        function = pending.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                if FORMULA.search(getattr(cell.cell_contents, "__name__", "")):
                    pending.append(cell.cell_contents)
        road, _ = public_name(function.__module__, function.__qualname__)
        removed = _raise_removed.__code__
        constants = tuple(road if value == "ROAD" else value for value in removed.co_consts)
        function.__code__ = removed.replace(co_freevars=function.__code__.co_freevars, co_consts=constants)
        vars(function).clear()


def _raise_removed(*_arguments: object, **_options: object) -> NoReturn:
    """Raise `AutogradUsed`: the code that `_remove_code` puts into a function, with the function's name for `ROAD`."""
    # it runs among the globals of the function whose code it replaces
    from grader.child.no_autograd import raising_function  # absolute, for it is imported from anywhere

    raising_function("ROAD")()


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
