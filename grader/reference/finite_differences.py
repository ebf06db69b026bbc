"""Central differences in float64, with which every reference is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

WIDE_TO_NARROW = (2e-3, 2e-4, 2e-5)  # in proportion to the entry
GOOD = 1e-9  # of a slope: no narrower step can do better
SMALLEST = 1e-2  # in proportion to the largest entry: the least that an entry counts for in its step
STEP = 2e-6  # a batch of one has a variance of 0, and is bent by the 1e-5 that is added to it


def nudged(values: np.ndarray, index: tuple[int, ...], step: float) -> np.ndarray:
    """A copy of `values` with one entry moved by `step`."""
    moved = values.copy()
    moved[index] += step
    return moved


def gradient(f: Callable[[np.ndarray], float], values: np.ndarray, step: float = STEP) -> np.ndarray:
    """d f / d values by central differences, entry by entry; shape: that of `values` (float64)."""
    result = np.zeros(values.shape)
    for index in np.ndindex(values.shape):
        difference = f(nudged(values, index, step)) - f(nudged(values, index, -step))
        result[index] = difference / (2 * step)
    return result


def at(
    f: Callable[[np.ndarray], float], values: np.ndarray, entries: Iterable[tuple[int, ...]], step: float
) -> np.ndarray:
    """Return d f / d values by central differences at the given indices, nan elsewhere; shape: that of `values`."""
    slopes = np.full(values.shape, np.nan)
    for index in entries:
        slopes[index] = (f(nudged(values, index, step)) - f(nudged(values, index, -step))) / (2 * step)
    return slopes


def measured(
    f: Callable[[np.ndarray], float], values: np.ndarray, entries: Iterable[tuple[int, ...]]
) -> tuple[np.ndarray, np.ndarray]:
    """Measure d f / d values, and how far each entry may be off, by central differences alone.

    Differences over a wide and over narrow steps, each taken twice to cancel the cubic term: a smooth function has the
    best numbers with the wide one, also where it rounds to float32 inside; beside a kink the narrow ones are right.

    Args:
        values: float64.
        entries: the indices that are measured; every other entry is nan.

    Returns:
        The gradient and its error, both shaped like `values`.
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
        return (f(nudged(values, index, step)) - f(nudged(values, index, -step))) / (2 * step)

    return (4 * slope(step / 2) - slope(step)) / 3
