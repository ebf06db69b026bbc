"""Shapes with named axes: `"bs n"` is a spec, `{"bs": 7, "n": 5}` its sizes, `(bs=7, n=5)` its text.

A spec may have alternatives, `"bs n | n"`, of which each trial has one. An axis may be made of others: `"n+m 4*m"`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

Sizes = Mapping[str, int]
Axes = tuple[str, ...]

BATCH = "bs"
ANY = "..."
FIRST_OF_ANY = "_0"
OR = "|"
PARTS = {
    "only the first": slice(0, 1),
    "only the last": slice(-1, None),
    "all but the first": slice(1, None),
    "all but the last": slice(0, -1),
}


def alternatives(spec: str) -> tuple[str, ...]:
    """Return the alternatives of a spec: `"bs n | n"` -> `("bs n", "n")`."""
    return tuple(part.strip() for part in spec.split(OR))


def axes_of(spec: str) -> Axes:
    """Return the axes of a spec: `"bs n+m"` -> `("bs", "n+m")`; a number is an axis of that fixed size."""
    return tuple(spec.split())


def parts_of(axis: str) -> list[str]:
    """Return the names and numbers that an axis is made of: `"n+4*m"` -> `["n", "4", "m"]`."""
    return re.split(r"[+*]", axis)


def named_axes(specs: Iterable[str]) -> Axes:
    """Return every named axis of several specs, in order of first appearance, without numbers and `...`."""
    axes = (axis for spec in specs for part in alternatives(spec) for axis in axes_of(part))
    names = (name for axis in axes for name in parts_of(axis))
    return tuple(dict.fromkeys(name for name in names if name != ANY and not name.isdigit()))


def expand_any(spec: str, rank: int) -> Axes:
    """Return the axes of a spec, with `rank` anonymous axes (`_0`, `_1`, ...) in place of `...`."""
    anonymous = tuple(f"_{i}" for i in range(rank))
    parts = (anonymous if axis == ANY else (axis,) for axis in axes_of(spec))
    return tuple(axis for part in parts for axis in part)


def shape_of(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    """Return the shape of an array with these axes, given the sizes of all names in them."""
    return tuple(_size(axis, sizes) for axis in axes)


def _size(axis: str, sizes: Sizes) -> int:
    """Return the size of an axis, which is a sum of products of names and numbers, such as `n+4*m`."""
    products = (product.split("*") for product in axis.split("+"))
    return sum(math.prod(int(part) if part.isdigit() else sizes[part] for part in parts) for parts in products)


def describe(shape: Sequence[int], axes: Axes | None = None) -> str:
    """Return a shape as text: `(bs=7, n=5)`, or `(7, 5)` without axes or if there are not as many as sizes.

    An axis without a name, such as `_0` or `3`, is shown by its size alone.
    """
    if axes is None or len(axes) != len(shape):
        return str(tuple(shape))
    parts = [
        f"{size}" if axis.startswith("_") or axis.isdigit() else f"{axis}={size}"
        for axis, size in zip(axes, shape, strict=True)
    ]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def guess_axes(shape: Sequence[int], sizes: Sizes) -> Axes:
    """Return a name for each axis of a learner's array: that of the only axis with its size.

    An axis that cannot be named so is `_0`, `_1`, ..., by its place. Most trials have pairwise different sizes.

    Args:
        shape: the shape of the array.
        sizes: the sizes of the named axes.
    """
    return axes_in_all([shape], [sizes])


def axes_in_all(shapes: Sequence[Sequence[int]], sizes: Sequence[Sizes]) -> Axes:
    """Return a name for each axis of an array that is seen in several trials.

    It is that of the only axis with its size in every trial. An axis that cannot be named so is `_0`, `_1`, ..., by its
    place. With several trials, no axis gets the name of another one that has the same size by chance.

    Args:
        shapes: the shapes of the array, of equally many axes.
        sizes: for each shape the sizes of the named axes in that trial.
    """

    def name_of(i: int) -> str:
        """Return the name of axis `i`."""
        seen = [(shape[i], known) for shape, known in zip(shapes, sizes, strict=True)]
        names = [name for name in sizes[0] if all(known.get(name) == size for size, known in seen)]
        return names[0] if len(names) == 1 else f"_{i}"

    return tuple(map(name_of, range(len(shapes[0]))))


def describe_guessed(shape: Sequence[int], sizes: Sizes) -> str:
    """Return a learner's shape as text, with the axes that `guess_axes` names."""
    return describe(shape, guess_axes(shape, sizes))
