"""Counts the work that a formula asks for, before it is done: a hostile one is refused by its size, not by a clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.errors import ExpressionError
from grader.shapes import Sizes, guess_axes

MOST_WORK = 600_000
MOST_ENTRIES = 20_000
MOST_AXES = 8
STEP = 100
MOST_SHOWN = 4
CALLED = {"axis": "dim", "keepdims": "keepdim", "axes": "dims", "a_min": "min", "a_max": "max"}
IGNORED = frozenset(("dtype", "device", "requires_grad", "copy", "memory_format", "optimize"))


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

    def room(self, shape: Sequence[int]) -> None:
        """Count a result of this shape.

        Raises:
            ExpressionError: it is far larger than the answer.
        """
        size = math.prod(max(side, 1) for side in shape)  # an axis of size 0 hides how long the others are
        if len(shape) > MOST_AXES or size > MOST_ENTRIES:
            raise ExpressionError("it makes an array far larger than the answer")
        self.spend(size)

    def array(self, value: Any) -> np.ndarray:
        """Return a value as a float64 array; a list of arrays is stacked.

        Raises:
            TypeError: it is a text, or nothing.
        """
        if isinstance(value, tuple):
            rows = [self.array(row) for row in self.turns(value)]
            self.room((sum(row.size for row in rows),))
            return np.stack(rows) if rows else np.zeros(0)
        if value is None or isinstance(value, (str, slice, type(Ellipsis))):
            raise TypeError("no array")
        return np.asarray(value, dtype="float64")

    def turns(self, items: Any) -> Iterator[Any]:
        """Yield the items of a list, or the rows of an array, counting a step for each.

        Raises:
            ExpressionError: it is neither.
        """
        if isinstance(items, (str, slice)) or not hasattr(items, "__iter__") or getattr(items, "shape", None) == ():
            raise ExpressionError("what is not a list has no items")
        for item in items:
            self.step()
            yield item

    def result(
        self, name: str, operation: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Return the result of an operation.

        Raises:
            ExpressionError: it does not fit its arguments, or there is too much to do.
        """
        if "input" in options:
            arguments, options = [options["input"], *arguments], {k: v for k, v in options.items() if k != "input"}
        named = {CALLED.get(option, option): value for option, value in options.items() if option not in IGNORED}
        try:
            return operation(self, *arguments, **named)
        except (TypeError, ArithmeticError, AttributeError, KeyError) as error:
            raise ExpressionError(f"{name} cannot be used like this: look at what stands in its brackets") from error
        except (ValueError, IndexError, MemoryError) as error:
            arrays = [each for each in arguments if hasattr(each, "shape")][:MOST_SHOWN]
            shapes = " and ".join(shape_text(each.shape, self.sizes) for each in arrays)
            raise ExpressionError(f"{name} does not fit {shapes or 'what stands in its brackets'}", "error") from error


def shape_text(shape: Sequence[int], sizes: Sizes) -> str:
    """A shape in axis names, `(bs, m)`; without axes it is a single number."""
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
    if isinstance(value, str) or np.ndim(value):
        raise TypeError("not one number")
    number = float(value)
    if not number.is_integer():
        raise TypeError("not a whole number")
    return int(number)


def wholes(values: Sequence[Any]) -> tuple[int, ...]:
    """Axes or sizes, given one by one or as one list."""
    if len(values) == 1 and isinstance(values[0], (tuple, np.ndarray)) and np.ndim(values[0]) == 1:
        values = tuple(values[0])
    return tuple(whole(value) for value in values)
