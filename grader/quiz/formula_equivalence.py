"""Compares two formulas by their values at random points, at sizes that tell every axis apart."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.errors import ExpressionError
from grader.shapes import Axes, Sizes, named_axes, shape_of
from grader.trial_sizes import DISTINCT_SIZES

from .array_operations import ArraySteps
from .formula_evaluation import Evaluation
from .formula_parser import Node, parse

DRAWS = 3
CLOSE = 1e-9


@dataclass(frozen=True)
class Variable:
    """What a name in a formula stands for.

    Args:
        axes: the names of its axes, none for a number.
        low: the least value of an entry.
        high: the largest.
    """

    axes: Axes = ()
    low: float = -2.0
    high: float = 2.0


@dataclass(frozen=True)
class Point:
    """One draw: the size of every axis, and the value of every variable, axis sizes included."""

    sizes: Sizes
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Points:
    """Where the formulas of one question are compared.

    Args:
        functions: which elementwise functions may occur.
    """

    draws: tuple[Point, ...]
    functions: frozenset[str]

    def values(self, formula: str) -> list[np.ndarray]:
        """The value of a formula at every point.

        Raises:
            ExpressionError: it cannot be read or worked out, or is not finite.
        """
        node = parse(formula)
        with np.errstate(all="ignore"):
            return [self._value(node, point) for point in self.draws]

    def _value(self, node: Node, point: Point) -> np.ndarray:
        return _finite(Evaluation(point.values, ArraySteps(self.functions, point.sizes).apply).of(node))


def draw_points(variables: Mapping[str, Variable], functions: Sequence[str] = ()) -> Points:
    """The points for formulas in these variables, `out_g` standing for `out.g`; always the same ones."""
    axes = named_axes([" ".join(variable.axes) for variable in variables.values()])
    rng = np.random.default_rng(zlib.crc32(" ".join(variables).encode()))
    return Points(tuple(_point(variables, axes, rng) for _ in range(DRAWS)), frozenset(functions))


def _point(variables: Mapping[str, Variable], axes: Axes, rng: np.random.Generator) -> Point:
    sizes = {axis: int(size) for axis, size in zip(axes, rng.permutation(DISTINCT_SIZES), strict=False)}
    values: dict[str, Any] = {
        name: rng.uniform(variable.low, variable.high, shape_of(variable.axes, sizes))
        for name, variable in variables.items()
    }
    return Point(sizes, {**values, **sizes})


def _finite(value: Any) -> np.ndarray:
    array = np.asarray(value, dtype="float64")
    if not np.isfinite(array).all():
        raise ExpressionError("its value is not finite at ordinary inputs", "not-finite")
    return array


def same_values(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """The same shape and, but for rounding, the same value at every point."""
    if any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return False
    scale = max(float(np.abs(b).max(initial=0.0)) for b in second) or 1.0
    return all(float(np.abs(a - b).max(initial=0.0)) <= CLOSE * scale for a, b in zip(first, second, strict=True))


def constant_ratio(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> float | None:
    """The one number that turns the second into the first at every point, if there is one."""
    if any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return None
    size = sum(float((b * b).sum()) for b in second)
    factor = sum(float((a * b).sum()) for a, b in zip(first, second, strict=True)) / size if size else 0.0
    return factor if factor and same_values(first, [factor * b for b in second]) else None
