"""Somebody's forward pass, run as it is written, and in float64: modules, closures, work in place, numpy."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

LEAVING = frozenset(("numpy", "item", "tolist", "__array__", "__float__", "__int__", "__index__", "__complex__"))
DATA = vars(torch._C.TensorBase)["data"].__get__
DEEPEST = 3  # functions inside functions, of which one may close over itself
IN_PLACE = frozenset(("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"))


@dataclass(frozen=True)
class OwnForward:
    """Run a forward pass as its author wrote it, in float64 as well, without changing its inputs.

    Args:
        original: as its author wrote it.
        in_double: the same with float64 parameters, for inputs in float64; the original where it takes them itself.
        promotes: whether each float32 tensor beside a float64 one becomes float64, and new tensors are float64.
        copies: whether it works on its inputs in place, so that it is given copies.
    """

    original: Callable[..., Any]
    in_double: Callable[..., Any]
    promotes: bool = False
    copies: bool = False

    def __call__(self, **inputs: Any) -> Any:
        """Return what the forward pass returns, in float64 if one of the inputs is float64."""
        given = {name: _copy(value) for name, value in inputs.items()} if self.copies else inputs
        if not any(isinstance(value, torch.Tensor) and value.dtype == torch.float64 for value in inputs.values()):
            return self.original(**given)
        if not self.promotes:
            return self.in_double(**given)
        with _default_dtype(torch.float64), _PromotionToDouble():
            return self.in_double(**given)

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the signature of the original."""
        return inspect.signature(self.original)

    def leaves_torch(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether it takes numbers out of tensors (by numpy, say), whose further use torch cannot see."""
        with torch.no_grad(), _NumberWatch() as watching:
            self(**inputs)
        return bool(watching.leaves)


def with_double_parameters(forward: Callable[..., Any], depth: int = 0) -> Callable[..., Any]:
    """Return the same forward pass with float64 copies of the modules that it is, is bound to, or closes over."""
    if isinstance(forward, torch.nn.Module):
        return _double_copy(forward)
    if isinstance(forward, functools.partial):
        function = with_double_parameters(forward.func, depth)
        return functools.partial(function, *map(_in_double, forward.args), **_values_in_double(forward.keywords))
    if inspect.ismethod(forward) and isinstance(forward.__self__, torch.nn.Module):
        return types.MethodType(forward.__func__, _double_copy(forward.__self__))
    if not isinstance(forward, types.FunctionType) or depth > DEEPEST:
        return forward
    cells = tuple(_double_cell(cell, depth + 1) for cell in forward.__closure__ or ())
    used = {name: forward.__globals__[name] for name in forward.__code__.co_names if name in forward.__globals__}
    found = types.FunctionType(
        forward.__code__,
        {**forward.__globals__, **_values_in_double(used)},
        forward.__name__,
        tuple(map(_in_double, forward.__defaults__)) if forward.__defaults__ else None,
        cells,
    )
    found.__kwdefaults__ = _values_in_double(forward.__kwdefaults__) if forward.__kwdefaults__ else None
    return found


def own_backwards(out: torch.Tensor) -> frozenset[str]:
    """Return the names of the custom functions in the graph of a value, whose backward passes are somebody's code."""
    found, waiting, seen = set(), [out.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(type(node), "_forward_cls"):
            found.add(type(node).__name__.removesuffix("Backward"))
        waiting += [following for following, _ in node.next_functions]
    return frozenset(found)


class _PromotionToDouble(TorchFunctionMode):
    """Convert, within this context, every float32 tensor that an operation takes beside a float64 one to float64."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, with its float32 arguments in float64 if it has a float64 one too."""
        kwargs = kwargs or {}
        dtypes = {value.dtype for value in _tensors((args, kwargs))}
        if {torch.float32, torch.float64} <= dtypes:
            name = getattr(func, "__name__", "")
            in_place = name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
            kept = args[:1] if in_place else ()
            args = (*kept, *(_with_double_tensors(value) for value in args[len(kept) :]))
            kwargs = {key: _with_double_tensors(value) for key, value in kwargs.items()}
        return func(*args, **kwargs)


class _NumberWatch(TorchFunctionMode):
    """Record whether, within this context, numbers are taken out of floating-point tensors."""

    def __init__(self) -> None:
        """Begin with nothing recorded."""
        super().__init__()
        self.leaves = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, and record whether it takes numbers out of a tensor."""
        of_data = func == DATA
        floating = any(value.is_floating_point() for value in _tensors(args))
        self.leaves |= floating and (of_data or getattr(func, "__name__", "") in LEAVING)
        return func(*args, **(kwargs or {}))


def _with_double_tensors(value: Any) -> Any:
    """Return float32 tensors, in lists and tuples too, as float64; a leaf, such as a parameter, becomes a constant."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_with_double_tensors, value))
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    if not value.is_leaf:
        return value.double()
    with torch._C.DisableTorchFunction():  # a recorder of the forward pass is to see a constant
        return value.detach().double()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value, which may be nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set torch's default dtype within the block, and restore it afterwards."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _double_copy(module: torch.nn.Module) -> torch.nn.Module:
    """Return a float64 copy of a module whose parameters require no gradient."""
    return copy.deepcopy(module).double().requires_grad_(False)


def _in_double(value: Any) -> Any:
    """Return a module as a float64 copy; other values unchanged."""
    return _double_copy(value) if isinstance(value, torch.nn.Module) else value


def _values_in_double(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, each module among them as a float64 copy."""
    return {name: _in_double(value) for name, value in values.items()}


def _double_cell(cell: types.CellType, depth: int) -> types.CellType:
    """Return a closure's cell with the module or function in it in float64; the cell itself if that changes nothing."""
    try:
        found = cell.cell_contents
    except ValueError:  # not yet filled
        return cell
    inner = with_double_parameters(found, depth) if isinstance(found, types.FunctionType) else _in_double(found)
    return cell if inner is found else types.CellType(inner)


def _copy(value: Any) -> Any:
    """Return a clone of a tensor; other values unchanged."""
    return value.clone() if isinstance(value, torch.Tensor) else value
