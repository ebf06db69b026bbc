"""Counts the work that a formula asks for, before it is done: a hostile one is refused by its size, not by a clock."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.course.shapes import Sizes, guess_axes
from grader.errors import ExpressionError

MOST_WORK = 600_000
MOST_ENTRIES = 20_000
MOST_AXES = 8
MOST_NAMED = 64  # numpy has no array of more axes, and takes long to say so of thousands
STEP = 100


@dataclass
class Work:
    """Count the work that may still be done for one answer: 1 for an entry of an array, `STEP` for an evaluation step.

    Args:
        sizes: the axis sizes, so that messages can name axes.
    """

    sizes: Sizes = field(default_factory=dict)
    left: int = MOST_WORK

    def spend(self, amount: int) -> None:
        """Count some work.

        Raises:
            ExpressionError: it is more than any answer needs.
        """
        self.left -= amount
        if self.left < 0:
            raise ExpressionError("it takes far more work than the answer")

    def step(self) -> None:
        """Count one step of the evaluation."""
        self.spend(STEP)

    def room(self, entries: int) -> None:
        """Count entries that are about to be made or read.

        Raises:
            ExpressionError: they are far more than an answer has.
        """
        self.fits(entries)
        self.spend(entries)

    def fits(self, entries: int, axes: int = 0) -> None:
        """Refuse an array that is larger than any answer's.

        Raises:
            ExpressionError: it is, or it has more axes.
        """
        if entries > MOST_ENTRIES or axes > MOST_AXES:
            raise ExpressionError("it makes an array far larger than the answer")

    def array(self, value: Any) -> np.ndarray:
        """Return a value as a float64 array; a list of arrays is stacked.

        Raises:
            TypeError: it is a text, or nothing.
        """
        if isinstance(value, tuple):
            rows = self.arrays(value)
            self.room(sum(row.size for row in rows))
            self.fits(0, max((row.ndim + 1 for row in rows), default=1))
            return np.stack(rows) if rows else np.zeros(0)
        if value is None or isinstance(value, (str, slice, type(Ellipsis))):
            raise TypeError("no array")
        return np.asarray(value, dtype="float64")

    def arrays(self, values: Any) -> list[np.ndarray]:
        """Return the items of a list, or the rows of an array, as arrays."""
        return [self.array(value) for value in self.items(values)]

    def items(self, values: Any) -> Iterator[Any]:
        """Yield the items of a list, or the rows of an array, counting a step for each.

        Raises:
            ExpressionError: it is neither.
        """
        if isinstance(values, (str, slice)) or not hasattr(values, "__iter__") or getattr(values, "shape", None) == ():
            raise ExpressionError("what is not a list has no items")
        for item in values:
            self.step()
            yield item


def entries_of(shape: Sequence[int]) -> int:
    """Return how many entries an array of this shape has, where no axis of size 0 hides how long the others are."""
    return math.prod(max(side, 1) for side in shape)


def shape_text(shape: Sequence[int], sizes: Sizes) -> str:
    """Write a shape in axis names, `(bs, m)`; without axes it is a single number."""
    if not shape:
        return "a single number"
    names = guess_axes(shape, sizes)
    parts = [str(size) if name.startswith("_") else name for name, size in zip(names, shape, strict=True)]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def whole(value: Any) -> int:
    """Return a value as a whole number: an axis, a size or the bound of a slice.

    Raises:
        TypeError: it is not one.
    """
    if isinstance(value, (str, tuple)) or np.ndim(value):  # of a list numpy would make an array, however large
        raise TypeError("not one number")
    number = float(value)
    if not number.is_integer():
        raise TypeError("not a whole number")
    return int(number)


def wholes(values: Sequence[Any]) -> tuple[int, ...]:
    """Return axes or sizes, given one by one or as one list; none where `None` is given.

    Raises:
        TypeError: one of them is no whole number.
        ValueError: they are far more than an array has.
    """
    if len(values) == 1 and (isinstance(values[0], tuple) or np.ndim(values[0]) == 1):
        values = tuple(values[0])
    if len(values) > MOST_NAMED:
        raise ValueError("far more axes than an array has")
    return () if len(values) == 1 and values[0] is None else tuple(whole(value) for value in values)
