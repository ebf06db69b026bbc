"""Tries every known way to make torch differentiate: after its removal, none of them may work.

The probes go below the closed entrances on purpose, to what is left when a learner finds a way round them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.autograd.forward_ad as forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

X = (1.0, 2.0)
RIGHT = (3.0, 12.0)


def working_probes() -> list[str]:
    """The names of the probes that still find a derivative, or the trace of one; empty when all is well."""
    return [name for name, probe in PROBES.items() if _succeeds(probe)]


def _succeeds(probe: Callable[[torch.Tensor], Any]) -> bool:
    try:
        with torch.inference_mode(False), torch.enable_grad():
            found = probe(torch.tensor(X, dtype=torch.float64))
    except Exception:  # refused: as it should be
        return False
    return found is True or (isinstance(found, torch.Tensor) and found.tolist() == list(RIGHT))


def _cube(x: torch.Tensor) -> torch.Tensor:
    return (x * x * x).sum()


def _leaf(x: torch.Tensor) -> torch.Tensor:
    return x.clone().requires_grad_()


def _backward(x: torch.Tensor) -> Any:
    leaf = _leaf(x)
    _cube(leaf).backward()  # type: ignore[no-untyped-call]
    return leaf.grad


def _engine(x: torch.Tensor) -> Any:
    leaf = _leaf(x)
    return torch.autograd.grad(_cube(leaf), leaf)[0]


def _recorded(x: torch.Tensor) -> bool:
    """An operation left a node of a graph, on whatever device."""
    devices = [x, x.to("meta"), x.to_sparse(), torch.nested.nested_tensor([x]), x.to(torch.complex128)]
    leaves = [_leaf(tensor) for tensor in devices]
    results = [
        operation(leaf) for leaf in leaves for operation in (torch.sin, torch.neg, torch.clone) if _can(operation, leaf)
    ]
    return not results or any(result.grad_fn is not None for result in results)


def _can(operation: Callable[..., Any], *arguments: Any) -> bool:
    try:
        operation(*arguments)
    except (RuntimeError, NotImplementedError):
        return False
    return True


def _unshadowed(_x: torch.Tensor) -> bool:
    """Some operation still has a kernel that records, or some device another kernel than this."""
    falls_through = torch._C._dispatch_kernel_for_dispatch_key_is_fallthrough
    operations = torch._C._dispatch_get_registrations_for_dispatch_key("Autograd")
    if not all(falls_through(operation, "Autograd") for operation in operations):
        return True
    tables = [torch._C._dispatch_dump_table(operation) for operation in ("aten::mm", "aten::sum", "aten::view")]
    rows = [line for table in tables for line in table.splitlines() if line.startswith("Autograd")]
    return not rows or any("fallthrough" not in row for row in rows)


def _forward_mode(x: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))  # type: ignore[no-untyped-call]
        return forward_ad.unpack_dual(dual * dual * dual).tangent  # type: ignore[no-untyped-call]


def _functorch(x: torch.Tensor) -> Any:
    return torch.func.grad(_cube)(x)


def _jacobian(x: torch.Tensor) -> Any:
    return torch.autograd.functional.jacobian(_cube, x)  # type: ignore[no-untyped-call]


def _operation(x: torch.Tensor) -> Any:
    """`threshold_backward` with these arguments gives what a right gradient would be."""
    return torch.ops.aten.threshold_backward(torch.tensor(RIGHT, dtype=x.dtype), x, 0.0)


def _below(x: torch.Tensor) -> Any:
    with torch._C._AutoDispatchBelowAutograd():
        return _operation(x)


def _in_a_mode(x: torch.Tensor) -> Any:
    class Pass(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Pass():  # type: ignore[no-untyped-call]
        return _backward(x)


def _decomposition(x: torch.Tensor) -> Any:
    import torch._decomp.decompositions as decompositions

    return decompositions.threshold_backward(torch.tensor(RIGHT, dtype=x.dtype), x, 0.0)


def _script(x: torch.Tensor) -> Any:
    torch._C.CompilationUnit().define("def f(x):\n    return x\n", _cube)  # type: ignore[arg-type]
    return True


def _sympy(x: torch.Tensor) -> bool:
    return importlib.import_module("sympy") is not None


PROBES: Mapping[str, Callable[[torch.Tensor], Any]] = {
    "backward": _backward,
    "autograd.grad": _engine,
    "recording": _recorded,
    "a kernel at an Autograd key": _unshadowed,
    "forward mode": _forward_mode,
    "torch.func": _functorch,
    "autograd.functional": _jacobian,
    "a *_backward operation": _operation,
    "below Autograd": _below,
    "within a dispatch mode": _in_a_mode,
    "a decomposition": _decomposition,
    "TorchScript": _script,
    "sympy": _sympy,
}
