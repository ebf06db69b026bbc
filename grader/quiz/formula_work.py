"""The work of evaluating a formula, counted before it is done, so that a hostile one is refused by its size."""

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
    """Hold the work that may still be done for one answer: 1 for an entry of an array, `STEP` for an evaluation step.

    Args:
        sizes: the axis sizes, so that messages can name axes.
        remaining: the work that may still be done.
    """

    sizes: Sizes = field(default_factory=dict)
    remaining: int = MOST_WORK

    def spend(self, amount: int) -> None:
        """Subtract an amount of work from what remains.

        Raises:
            ExpressionError: no work remains.
        """
        self.remaining -= amount
        if self.remaining < 0:
            raise ExpressionError("it takes far more work than the answer")

    def step(self) -> None:
        """Subtract the work of one evaluation step.

        Raises:
            ExpressionError: no work remains.
        """
        self.spend(STEP)

    def spend_entries(self, entries: int) -> None:
        """Subtract the work for entries that are about to be made or read.

        Raises:
            ExpressionError: the entries are far more than an answer has, or no work remains.
        """
        self.check_size(entries)
        self.spend(entries)

    def check_size(self, entries: int, axes: int = 0) -> None:
        """Check that an array is not larger than any answer's.

        Raises:
            ExpressionError: the array has too many entries or axes.
        """
        if entries > MOST_ENTRIES or axes > MOST_AXES:
            raise ExpressionError("it makes an array far larger than the answer")

    def array(self, value: Any) -> np.ndarray:
        """Return a value as a float64 array; a list of arrays is stacked, and an empty list has no entries.

        Raises:
            TypeError: the value is a text, a slice or `None`.
        """
        if isinstance(value, tuple):
            rows = self.arrays(value)
            self.spend_entries(sum(row.size for row in rows))
            self.check_size(0, max((row.ndim + 1 for row in rows), default=1))
            return np.stack(rows) if rows else np.zeros(0)
        if value is None or isinstance(value, (str, slice, type(Ellipsis))):
            raise TypeError("no array")
        return np.asarray(value, dtype="float64")

    def arrays(self, values: Any) -> list[np.ndarray]:
        """Return the items of a list, or the rows of an array, as arrays, and count their work.

        Raises:
            ExpressionError: the value is a number or a text, or no work remains.
        """
        return [self.array(value) for value in self.items(values)]

    def items(self, values: Any) -> Iterator[Any]:
        """Yield the items of a list, or the rows of an array, counting a step for each.

        Raises:
            ExpressionError: the value is neither.
        """
        if isinstance(values, (str, slice)) or not hasattr(values, "__iter__") or getattr(values, "shape", None) == ():
            raise ExpressionError("what is not a list has no items")
        for item in values:
            self.step()
            yield item


def entries_of(shape: Sequence[int]) -> int:
    """Return how many entries an array of a shape has, an axis of size 0 counted as 1 so that it hides no long one."""
    return math.prod(max(side, 1) for side in shape)


def shape_text(shape: Sequence[int], sizes: Sizes) -> str:
    """Return a shape as text in axis names, such as `(bs, m)`; `a single number` without axes.

    A size that no axis has stands as a number.
    """
    if not shape:
        return "a single number"
    names = guess_axes(shape, sizes)
    parts = [str(size) if name.startswith("_") else name for name, size in zip(names, shape, strict=True)]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def whole(value: Any) -> int:
    """Return a value as a whole number: an axis, a size or the bound of a slice.

    Raises:
        TypeError: the value is no whole number.
    """
    if isinstance(value, (str, tuple)) or np.ndim(value):  # of a list numpy would make an array, however large
        raise TypeError("not one number")
    number = float(value)
    if not number.is_integer():
        raise TypeError("not a whole number")
    return int(number)


def wholes(values: Sequence[Any]) -> tuple[int, ...]:
    """Return axes or sizes as whole numbers, given one by one or as one list; none if `None` alone is given.

    Raises:
        TypeError: a value is no whole number.
        ValueError: there are far more values than an array has axes.
    """
    if len(values) == 1 and (isinstance(values[0], tuple) or np.ndim(values[0]) == 1):
        values = tuple(values[0])
    if len(values) > MOST_NAMED:
        raise ValueError("far more axes than an array has")
    return () if len(values) == 1 and values[0] is None else tuple(whole(value) for value in values)
