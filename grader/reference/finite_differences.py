"""Gradients by central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

WIDE_TO_NARROW = (2e-3, 2e-4, 2e-5)  # steps, in proportion to the entry
GOOD = 1e-9  # relative error of a slope: no narrower step can do better
SMALLEST = 1e-2  # of the largest entry: the least size that sets the step of an entry
STEP = 2e-6  # small, as a variance of 0, to which 1e-5 is added, makes a function curve sharply


def add_step(values: np.ndarray, index: tuple[int, ...], step: float) -> np.ndarray:
    """Return a copy of an array with `step` added to the entry at an index."""
    moved = values.copy()
    moved[index] += step
    return moved


def gradient(f: Callable[[np.ndarray], float], values: np.ndarray, step: float = STEP) -> np.ndarray:
    """Return the gradient of a function by central differences, entry by entry.

    Args:
        f: takes an array shaped like `values`; returns a number.
        values: the array at which the gradient is computed; float64.
        step: the size of the finite difference.

    Returns:
        Shape: that of `values`.
    """
    result = np.zeros(values.shape)
    for index in np.ndindex(values.shape):
        difference = f(add_step(values, index, step)) - f(add_step(values, index, -step))
        result[index] = difference / (2 * step)
    return result


def gradient_at(
    f: Callable[[np.ndarray], float], values: np.ndarray, entries: Iterable[tuple[int, ...]], step: float
) -> np.ndarray:
    """Return some entries of the gradient of a function by central differences.

    Args:
        f: takes an array shaped like `values`; returns a number.
        values: the array at which the gradient is computed; float64.
        entries: the indices of these entries.
        step: the size of the finite difference.

    Returns:
        Shape: that of `values`; nan at all other indices.
    """
    slopes = np.full(values.shape, np.nan)
    for index in entries:
        slopes[index] = (f(add_step(values, index, step)) - f(add_step(values, index, -step))) / (2 * step)
    return slopes


def gradient_and_error(
    f: Callable[[np.ndarray], float], values: np.ndarray, entries: Iterable[tuple[int, ...]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return some entries of the gradient of a function by central differences, and an estimate of the error of each.

    Each entry is measured with a wide step and with narrower ones, and the step with the least error is used: a wide
    one for a smooth function, even if it rounds to float32 inside, and a narrow one near a kink.

    Args:
        f: takes an array shaped like `values`; returns a number.
        values: the array at which the gradient is computed; float64.
        entries: the indices of these entries.

    Returns:
        The gradient and its absolute error, both shaped like `values`, and nan at all other indices.
    """
    slopes, error = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    for index in entries:
        size = max(abs(float(values[index])), SMALLEST * scale)
        before = _without_cubic_term(f, values, index, WIDE_TO_NARROW[0] * size)
        for step in WIDE_TO_NARROW[1:]:
            slope = _without_cubic_term(f, values, index, step * size)
            gap = abs(slope - before)
            if not gap >= error[index]:
                slopes[index], error[index] = slope, gap
            if gap <= GOOD * abs(slope):
                break
            before = slope
    return slopes, error


def _without_cubic_term(
    f: Callable[[np.ndarray], float], values: np.ndarray, index: tuple[int, ...], step: float
) -> float:
    """Return d f / d values[index] by central differences over two steps, combined so that the cubic term cancels."""

    def slope(step: float) -> float:
        """Return the central difference of `f` over twice the step, divided by it."""
        return (f(add_step(values, index, step)) - f(add_step(values, index, -step))) / (2 * step)

    return (4 * slope(step / 2) - slope(step)) / 3
