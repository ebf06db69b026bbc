"""Take torch's differentiation out of this process, for good: in a graded run it is absent, not forbidden.

What differentiates is compiled into one library: the formulas of every operation and the kernels that record them, the
engine that goes back through a record, and the `*_backward` operations. Their machine code is overwritten
(`machine_code`), so that whatever calls it dies, by whichever road it comes. The recording kernels are passed by on the
way to an operation's arithmetic. Formulas that are written in Python lose their code.

All this is pinned to the torch versions it was tested with.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
import torch
import torch._decomp
import torch.masked
import torch.nn.grad
from torch.library import fallthrough_kernel

from grader.errors import InfrastructureError

from . import machine_code, no_autograd, preloaded_modules

TESTED = ("2.13.0",)
"""The torch versions that tests/test_autograd_removal.py and tests/thorough/test_every_road.py were run with."""

LIBRARY = "libtorch_cpu.so"
COMPILED = {
    b"5torch8autograd": re.compile(
        rb"5torch8autograd(12VariableType|9generated|6Engine\d+(execute|evaluate|compute|thread_main|queue))"
    ),
    b"ackward": re.compile(rb"(?<!\d)(6native|9functorch).*ackward"),
    b"_jvp": re.compile(rb"(?<!\d)6native.*_jvp"),
    b"dirichlet_grad": re.compile(rb"(?<!\d)6native"),
    b"standard_gamma_grad": re.compile(rb"(?<!\d)6native"),
    b"3jit13differentiate": re.compile(rb""),
}
"""Mangled names of what differentiates, by a literal in each: `torch::autograd::generated::...`, `at::native::...`."""

AUTOGRAD_KEYS = (
    "Autograd AutogradCPU AutogradMeta AutogradOther AutogradNestedTensor AutogradCUDA AutogradXLA AutogradXPU "
    "AutogradMPS AutogradHPU AutogradIPU AutogradLazy AutogradMTIA AutogradPrivateUse1 AutogradPrivateUse2 "
    "AutogradPrivateUse3 ADInplaceOrView"
).split()
MODULES = tuple(
    "torch._decomp torch.nn.grad torch.masked torch._functorch.autograd_function torch._higher_order_ops "
    "torch._lobpcg torch._native torch.nn.attention".split()
)
FORMULA = re.compile(r"backward|jvp|vjp|_input$|_weight$")
_kept: dict[str, Any] = {}  # a registration lasts as long as its library


def remove() -> None:
    """Make differentiation impossible in this process and all it forks; call it once, before any job.

    Raises:
        InfrastructureError: this torch was not tested, or something of it that differentiates is still there.
    """
    if torch.__version__.split("+")[0] not in TESTED:
        raise InfrastructureError(
            f"graded runs were tested with torch {', '.join(TESTED)}, and this is torch {torch.__version__}: "
            f"run `pip install torch=={TESTED[-1]}`."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is being replaced is the point
        _pass_by_recording()
    no_autograd.forbid()
    _remove_code(_formulas())
    preloaded_modules.ban()
    try:
        functions = machine_code.functions(LIBRARY, COMPILED)
        machine_code.overwrite(functions)
    except (OSError, ValueError) as error:
        raise InfrastructureError(
            f"torch's differentiation cannot be removed here ({error}): nothing is graded."
        ) from error
    _check(functions)


def _check(functions: np.ndarray) -> None:
    """Call a function of each kind, in a child that must die of it."""
    left = []
    for index, literal in enumerate(COMPILED):
        addresses = functions[functions[:, 2] == index, 0].tolist()
        probed = addresses[:1] + addresses[-1:]
        if not probed or not all(_dies_of(address) for address in probed):
            left.append(literal.decode())
    if left:
        raise InfrastructureError(f"torch can still differentiate here ({', '.join(left)}): nothing is graded.")


def _dies_of(address: int) -> bool:
    """Whoever calls this function dies of it; asked twice, as the first may be ended by somebody else."""
    return any(machine_code.ends_by(address) == signal.SIGILL for _ in range(2))


def _pass_by_recording() -> None:
    """Let every operation go straight to its arithmetic."""
    for key in AUTOGRAD_KEYS:
        operations: list[str] = []
        with contextlib.suppress(RuntimeError):  # a key that this build of torch does not know
            operations += torch._C._dispatch_get_registrations_for_dispatch_key(key)
        for operation in operations:
            namespace, name = operation.split("::")
            if namespace not in _kept:
                _kept[namespace] = torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)
            _kept[namespace].impl(name, key, fallthrough_kernel, False)


def _formulas() -> Iterator[Any]:
    """Every Python function of torch that computes a derivative: decompositions, and each Function's `backward`."""
    for name, module in list(sys.modules.items()):
        if name.startswith(MODULES):
            yield from (value for key, value in vars(module).items() if FORMULA.search(key))
    for table in torch._decomp.global_decomposition_table.values():
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


def _remove_code(found: Iterable[Any]) -> None:
    """Take the code out of functions, wherever they are referred to from, and out of those that they wrap."""
    waiting, seen = list(found), set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                if FORMULA.search(getattr(cell.cell_contents, "__name__", "")):
                    waiting.append(cell.cell_contents)
        function.__code__ = _raise_removed.__code__.replace(co_freevars=function.__code__.co_freevars)
        vars(function).clear()


def _raise_removed(*_arguments: object, **_options: object) -> NoReturn:
    from grader.child.no_autograd import refuse  # it runs among the globals of the function whose code it replaces

    refuse()
