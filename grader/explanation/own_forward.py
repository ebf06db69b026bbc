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
    """A forward pass that takes float64 as well, and leaves its inputs alone.

    Args:
        original: as its author wrote it.
        in_double: the same with float64 parameters, for inputs in float64; the original where it takes them itself.
        promotes: beside a float64 tensor each float32 one becomes float64, and so does what is made without a dtype.
        copies: it works on its inputs in place, so it is given copies.
    """

    original: Callable[..., Any]
    in_double: Callable[..., Any]
    promotes: bool = False
    copies: bool = False

    def __call__(self, **inputs: Any) -> Any:
        given = {name: _copy(value) for name, value in inputs.items()} if self.copies else inputs
        if not any(isinstance(value, torch.Tensor) and value.dtype == torch.float64 for value in inputs.values()):
            return self.original(**given)
        if not self.promotes:
            return self.in_double(**given)
        with _default_dtype(torch.float64), _Promoting():
            return self.in_double(**given)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.original)

    def leaves_torch(self, inputs: Mapping[str, Any]) -> bool:
        """It takes numbers out of tensors, by numpy or as plain ones: what it makes of them torch cannot see."""
        with torch.no_grad(), _Watching() as watching:
            self(**inputs)
        return bool(watching.leaves)


def with_double_parameters(forward: Callable[..., Any], depth: int = 0) -> Callable[..., Any]:
    """The same forward pass, with float64 copies of the modules that it is, is bound to, or closes over."""
    if isinstance(forward, torch.nn.Module):
        return _double_copy(forward)
    if isinstance(forward, functools.partial):
        function = with_double_parameters(forward.func, depth)
        return functools.partial(function, *map(_in_double, forward.args), **_each_in_double(forward.keywords))
    if inspect.ismethod(forward) and isinstance(forward.__self__, torch.nn.Module):
        return types.MethodType(forward.__func__, _double_copy(forward.__self__))
    if not isinstance(forward, types.FunctionType) or depth > DEEPEST:
        return forward
    cells = tuple(_double_cell(cell, depth + 1) for cell in forward.__closure__ or ())
    used = {name: forward.__globals__[name] for name in forward.__code__.co_names if name in forward.__globals__}
    found = types.FunctionType(
        forward.__code__,
        {**forward.__globals__, **_each_in_double(used)},
        forward.__name__,
        tuple(map(_in_double, forward.__defaults__)) if forward.__defaults__ else None,
        cells,
    )
    found.__kwdefaults__ = _each_in_double(forward.__kwdefaults__) if forward.__kwdefaults__ else None
    return found


def own_backwards(out: torch.Tensor) -> frozenset[str]:
    """The custom functions in the graph of a value: their backward passes are somebody's code."""
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


class _Promoting(TorchFunctionMode):
    """Makes every float32 tensor float64 that an operation takes beside a float64 one."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        dtypes = {value.dtype for value in _tensors((args, kwargs))}
        if {torch.float32, torch.float64} <= dtypes:
            name = getattr(func, "__name__", "")
            in_place = name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
            kept = args[:1] if in_place else ()
            args = (*kept, *(_promoted(value) for value in args[len(kept) :]))
            kwargs = {key: _promoted(value) for key, value in kwargs.items()}
        return func(*args, **kwargs)


class _Watching(TorchFunctionMode):
    """Notes whether numbers are taken out of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.leaves = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        of_data = func == DATA
        floating = any(value.is_floating_point() for value in _tensors(args))
        self.leaves |= floating and (of_data or getattr(func, "__name__", "") in LEAVING)
        return func(*args, **(kwargs or {}))


def _promoted(value: Any) -> Any:
    """A float32 tensor as float64, in lists and tuples too; a parameter as the constant that it is here."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_promoted, value))
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    if not value.is_leaf:
        return value.double()
    with torch._C.DisableTorchFunction():  # a recorder of the forward pass is to see a constant
        return value.detach().double()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _double_copy(module: torch.nn.Module) -> torch.nn.Module:
    return copy.deepcopy(module).double().requires_grad_(False)


def _in_double(value: Any) -> Any:
    return _double_copy(value) if isinstance(value, torch.nn.Module) else value


def _each_in_double(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _in_double(value) for name, value in values.items()}


def _double_cell(cell: types.CellType, depth: int) -> types.CellType:
    try:
        found = cell.cell_contents
    except ValueError:  # not yet filled
        return cell
    inner = with_double_parameters(found, depth) if isinstance(found, types.FunctionType) else _in_double(found)
    return cell if inner is found else types.CellType(inner)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value
