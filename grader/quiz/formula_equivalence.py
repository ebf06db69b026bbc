"""Comparison of two formulas by their values at random points, whose axes have pairwise different sizes."""

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
    """Describe a variable of a formula.

    Args:
        axes: the names of its axes, none for a number.
        low: the least value of an entry.
        high: the greatest value of an entry.
        formula: the formula that has its value, if it is not drawn.
    """

    axes: Axes = ()
    low: float = -2.0
    high: float = 2.0
    formula: str | None = None


@dataclass(frozen=True)
class Point:
    """Hold the values of all variables in one draw.

    Args:
        sizes: the size of every axis, by name.
        values: by name the array of every variable, and the size of every axis as a float.
    """

    sizes: Sizes
    values: Mapping[str, Any]


def evaluate(formula: str, points: Sequence[Point], *, is_list: bool = False) -> list[Any]:
    """Return the value of a formula at every point: an array, a number, a tuple, or a text.

    Each point has an equal share of `MOST_WORK`.

    Args:
        formula: the text of the formula.
        points: the points, which have the same variables; at least one.
        is_list: whether the value is a list, so that `3,4` are two numbers.

    Raises:
        ExpressionError: the formula cannot be read or evaluated.
    """
    statements = read_formula(formula, points[0].values, is_list=is_list)
    share = MOST_WORK // len(points)
    return [Evaluation(point.values, Work(point.sizes, share)).run(statements) for point in points]


def as_arrays(values: Sequence[Any]) -> list[np.ndarray]:
    """Return values of formulas as arrays.

    Raises:
        ExpressionError: a value is no array of finite numbers.
    """
    if any(value is None or isinstance(value, (str, slice)) for value in values):
        raise ExpressionError("its value is no array of numbers")
    arrays = [perform(Work(), "array", [value], title="the answer") for value in values]
    if not all(np.isfinite(array).all() for array in arrays):
        raise ExpressionError("its value is not finite at ordinary inputs", "not-finite")
    return arrays


def draw_points(variables: Mapping[str, Variable], axes: Axes = (), fixed: Sizes | None = None) -> tuple[Point, ...]:
    """Return `DRAWS` points at which formulas in these variables are compared, the same for the same names.

    Args:
        variables: the variables by name, `out_g` for `out.g`; the formula of one may use those before it.
        axes: further axis names that formulas may use.
        fixed: the sizes of axes that are the same at every point.

    Raises:
        ExpressionError: the formula of a variable cannot be read or evaluated.
    """
    named = [*named_axes([" ".join(variable.axes) for variable in variables.values()]), *axes]
    drawn = [axis for axis in dict.fromkeys(named) if axis not in (fixed or {})]
    rng = np.random.default_rng(zlib.crc32(" ".join(variables).encode()))
    sizes = rng.permutation(DISTINCT_SIZES)
    return tuple(
        _point(variables, {**_sizes_by_axis(drawn, np.roll(sizes, draw)), **(fixed or {})}, rng)
        for draw in range(DRAWS)
    )


def _sizes_by_axis(axes: Sequence[str], sizes: np.ndarray) -> Sizes:
    """Return the size of each axis by its name; `sizes` has them in the order of `axes`, as an array of integers."""
    return {axis: int(size) for axis, size in zip(axes, sizes, strict=False)}


def _point(variables: Mapping[str, Variable], sizes: Sizes, rng: np.random.Generator) -> Point:
    """Return a point with these sizes and a value of each variable: that of its formula, or a random one."""
    values: dict[str, Any] = {}
    axes = {axis: float(size) for axis, size in sizes.items()}
    for name, variable in variables.items():
        if variable.formula is None:
            values[name] = rng.uniform(variable.low, variable.high, shape_of(variable.axes, sizes))
        else:
            (values[name],) = as_arrays(evaluate(variable.formula, [Point(sizes, {**values, **axes})]))
        np.asarray(values[name]).flags.writeable = False  # the same arrays serve for other answers
    return Point(sizes, {**values, **axes})


def same_values(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """Return whether two formulas have the same shape and, but for rounding, the same value at every point.

    Rounding is an error of at most `CLOSE` times the greatest entry of the second formula at any point.

    Args:
        first: the value of one formula at each point.
        second: the value of the other formula at each point.
    """
    if any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return False
    scale = max(float(np.abs(b).max(initial=0.0)) for b in second) or 1.0
    return all(float(np.abs(a - b).max(initial=0.0)) <= CLOSE * scale for a, b in zip(first, second, strict=True))


def constant_ratio(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> float | None:
    """Return the number c other than 0 with `first == c * second` at every point, but for rounding; `None` without one.

    Args:
        first: the value of one formula at each point.
        second: the value of the other formula at each point.
    """
    if any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return None
    size = sum(float((b * b).sum()) for b in second)
    factor = sum(float((a * b).sum()) for a, b in zip(first, second, strict=True)) / size if size else 0.0
    return factor if factor and same_values(first, [factor * b for b in second]) else None
