"""Compares two formulas by their values at random points, at sizes that tell every axis apart."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.course.shapes import Axes, Sizes, named_axes, shape_of
from grader.course.trial_sizes import DISTINCT_SIZES
from grader.errors import ExpressionError

from .formula_evaluation import Evaluation
from .formula_syntax import read_formula
from .formula_work import MOST_WORK, Work
from .operations import perform

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


def evaluate(formula: str, points: Sequence[Point], *, is_list: bool = False) -> list[Any]:
    """Return the value of a formula at every point: an array, a number, a tuple, or a text.

    Raises:
        ExpressionError: it cannot be read or worked out.
    """
    statements = read_formula(formula, points[0].values, is_list=is_list)
    share = MOST_WORK // len(points)
    return [Evaluation(point.values, Work(point.sizes, share)).run(statements) for point in points]


def as_arrays(values: Sequence[Any]) -> list[np.ndarray]:
    """Return values as arrays of finite numbers.

    Raises:
        ExpressionError: they are none.
    """
    if any(value is None or isinstance(value, (str, slice)) for value in values):
        raise ExpressionError("its value is no array of numbers")
    arrays = [perform(Work(), "array", [value], title="the answer") for value in values]
    if not all(np.isfinite(array).all() for array in arrays):
        raise ExpressionError("its value is not finite at ordinary inputs", "not-finite")
    return arrays


def draw_points(variables: Mapping[str, Variable], axes: Axes = (), fixed: Sizes | None = None) -> tuple[Point, ...]:
    """Draw the points for formulas in these variables; always the same ones.

    Args:
        variables: by name, `out_g` for `out.g`.
        axes: axis names that may be used beside those of the variables.
        fixed: the axes whose size does not change.
    """
    named = [*named_axes([" ".join(variable.axes) for variable in variables.values()]), *axes]
    drawn = [axis for axis in dict.fromkeys(named) if axis not in (fixed or {})]
    rng = np.random.default_rng(zlib.crc32(" ".join(variables).encode()))
    sizes = rng.permutation(DISTINCT_SIZES)
    return tuple(
        _point(variables, {**_in_turn(drawn, np.roll(sizes, draw)), **(fixed or {})}, rng) for draw in range(DRAWS)
    )


def _in_turn(axes: Sequence[str], sizes: np.ndarray) -> Sizes:
    """Give each axis a size, never the same in two draws."""
    return {axis: int(size) for axis, size in zip(axes, sizes, strict=False)}


def _point(variables: Mapping[str, Variable], sizes: Sizes, rng: np.random.Generator) -> Point:
    values: dict[str, Any] = {
        name: rng.uniform(variable.low, variable.high, shape_of(variable.axes, sizes))
        for name, variable in variables.items()
    }
    for value in values.values():
        np.asarray(value).flags.writeable = False  # a formula only reads them: other answers are judged with them too
    return Point(sizes, {**values, **{axis: float(size) for axis, size in sizes.items()}})


def same_values(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """Return whether two formulas have the same shape and, but for rounding, the same value at every point."""
    if any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return False
    scale = max(float(np.abs(b).max(initial=0.0)) for b in second) or 1.0
    return all(float(np.abs(a - b).max(initial=0.0)) <= CLOSE * scale for a, b in zip(first, second, strict=True))


def constant_ratio(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> float | None:
    """Return the one number that turns the second into the first at every point, if there is one."""
    if any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return None
    size = sum(float((b * b).sum()) for b in second)
    factor = sum(float((a * b).sum()) for a, b in zip(first, second, strict=True)) / size if size else 0.0
    return factor if factor and same_values(first, [factor * b for b in second]) else None
