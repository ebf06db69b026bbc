"""What the operators, functions and methods of a formula do to arrays, each call checked before it is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.errors import ExpressionError
from grader.shapes import Sizes, guess_axes

from .formula_evaluation import check_power

MOST_ENTRIES = 100_000
MOST_AXES = 5
SHORT = {
    ".mT": ".T", "t": ".T", "add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@", "mm": "@", "dot": "@",
    "pow": "**", "view": "reshape", "ger": "outer", "transpose": ".T",
}  # fmt: skip


@dataclass(frozen=True)
class ArraySteps:
    """Gives the value of one step of a formula; see `formula_evaluation.Apply`.

    Args:
        elementwise: which of the elementwise functions the question allows.
        sizes: the axis sizes, so that messages can name axes.
    """

    elementwise: frozenset[str]
    sizes: Sizes

    def apply(self, name: str, arguments: list[Any], options: dict[str, Any]) -> np.ndarray:
        """One operator, function or method; shapes as numpy has them.

        Raises:
            ExpressionError: there is no such step, it does not fit its arguments, or its result would be huge.
        """
        given = [np.asarray(argument, dtype="float64") for argument in arguments]
        shown = name.strip(".")
        step = self._step(SHORT.get(name, name), len(given))
        try:
            return np.asarray(step(*given, **options), dtype="float64")
        except (TypeError, OverflowError) as error:
            raise ExpressionError(f"{shown} cannot be used like this: look at what stands in its brackets") from error
        except (ValueError, IndexError) as error:
            shapes = " and ".join(shape_text(array.shape, self.sizes) for array in given)
            raise ExpressionError(f"{shown} does not fit {shapes}", "error") from error

    def _step(self, name: str, count: int) -> Callable[..., Any]:
        if name == "-" and count == 1:
            return _one_array(np.negative)
        if name in ELEMENTWISE and name not in self.elementwise:
            allowed = ", ".join(sorted(self.elementwise)) or "none is needed"
            raise ExpressionError(f"{name} is not among the functions of this question: {allowed}")
        if name not in STEPS:
            bare = name.strip(".")
            hint = f": write {bare}()" if bare in STEPS and name.startswith(".") else ""
            raise ExpressionError(f"there is no {bare} here{hint}")
        return STEPS[name]


def shape_text(shape: Sequence[int], sizes: Sizes) -> str:
    """A shape in axis names, `(bs, m)`; without axes it is a single number."""
    if not shape:
        return "a single number"
    names = guess_axes(shape, sizes)
    parts = [str(size) if name.startswith("_") else name for name, size in zip(names, shape, strict=True)]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _check_size(*shape: int) -> None:
    """Refuse a result that is far larger than any answer, before it is made."""
    if len(shape) > MOST_AXES or math.prod(shape) > MOST_ENTRIES:
        raise ExpressionError("it makes an array far larger than the answer", "memory")


def _one_array(function: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """Of one array and nothing else: numpy's own functions would take a second one to write into."""

    def step(a: np.ndarray) -> Any:
        return function(a)

    return step


def _pointwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def step(a: np.ndarray, b: np.ndarray) -> Any:
        _check_size(*np.broadcast_shapes(a.shape, b.shape))
        return function(a, b)

    return step


def _power(base: np.ndarray, exponent: np.ndarray) -> Any:
    _check_size(*np.broadcast_shapes(base.shape, exponent.shape))
    check_power(float(np.abs(exponent).max(initial=0.0)))
    return np.power(base, exponent)


def _where(condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> Any:
    _check_size(*np.broadcast_shapes(condition.shape, a.shape, b.shape))
    return np.where(condition != 0, a, b)


def _matmul(a: np.ndarray, b: np.ndarray) -> Any:
    if a.ndim and b.ndim:  # it is the work that counts: a formula has room for dozens of products
        _check_size(*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:], *b.shape[-1:])
    return np.matmul(a, b)


def _outer(a: np.ndarray, b: np.ndarray) -> Any:
    _check_size(a.size, b.size)
    return np.outer(a, b)


def _transpose(a: np.ndarray, *axes: np.ndarray) -> Any:
    return np.swapaxes(a, *map(_whole, axes)) if axes else np.swapaxes(a, -1, -2) if a.ndim > 1 else a


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum or a mean, with torch's and numpy's names for its options."""

    def step(a: np.ndarray, *axes: Any, **options: Any) -> Any:
        chosen = [*axes, *(options.pop(name) for name in ("dim", "axis") if name in options)]
        keep = bool(options.pop("keepdim", False)) | bool(options.pop("keepdims", False))
        if options:
            raise TypeError("an option that no sum has")
        return function(a, axis=tuple(map(_whole, chosen)) or None, keepdims=keep)

    return step


def _unsqueeze(a: np.ndarray, axis: Any = None, *, dim: Any = None) -> Any:
    _check_size(*a.shape, 1)
    return np.expand_dims(a, _whole(axis if dim is None else dim))


def _index(a: np.ndarray, parts: Sequence[str]) -> Any:
    _check_size(*a.shape, *[1] * parts.count("None"))
    return a[tuple(slice(None) if part == ":" else None if part == "None" else int(part) for part in parts)]


def _reshape(a: np.ndarray, *sizes: Any) -> Any:
    return a.reshape([_whole(size) for size in sizes])


def _eye(size: np.ndarray) -> Any:
    count = _whole(size)
    _check_size(count, count)
    if count < 1:
        raise ValueError("an array without entries: numpy warns of its mean")
    return np.eye(count)


def _diag(a: np.ndarray) -> Any:
    _check_size(a.size, a.size)
    return np.diag(a)


def _whole(value: Any) -> int:
    """An axis or a size.

    Raises:
        TypeError: it is no whole number.
    """
    number = float(value)
    if not number.is_integer():
        raise TypeError("not a whole number")
    return int(number)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "relu": lambda a: np.maximum(a, 0.0),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    **{f.__name__: _one_array(f) for f in (np.exp, np.log, np.sqrt, np.sin, np.cos, np.tan, np.tanh, np.sign)},
    "abs": _one_array(np.abs),
}
STEPS: dict[str, Callable[..., Any]] = {
    **ELEMENTWISE,
    "+": _pointwise(np.add), "-": _pointwise(np.subtract), "*": _pointwise(np.multiply), "/": _pointwise(np.divide),
    "<": _pointwise(np.less), "<=": _pointwise(np.less_equal), ">": _pointwise(np.greater),
    ">=": _pointwise(np.greater_equal), "**": _power, "@": _matmul, "outer": _outer, ".T": _transpose,
    "sum": _reduced(np.sum), "mean": _reduced(np.mean), "unsqueeze": _unsqueeze, "[]": _index, "reshape": _reshape,
    "eye": _eye, "diag": _diag, "float": lambda a: a, "len": lambda a: len(a), "where": _where,
}  # fmt: skip
