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
    """The specs that a spec goes through: `"bs n | n"` -> `("bs n", "n")`."""
    return tuple(part.strip() for part in spec.split(OR))


def axes_of(spec: str) -> Axes:
    """The axes of a spec: `"bs n+m"` -> `("bs", "n+m")`; a number is an axis of that fixed size."""
    return tuple(spec.split())


def parts_of(axis: str) -> list[str]:
    """The names and numbers that an axis is made of: `"n+4*m"` -> `["n", "4", "m"]`."""
    return re.split(r"[+*]", axis)


def named_axes(specs: Iterable[str]) -> Axes:
    """Every named axis of several specs, in order of first appearance, without numbers and `...`."""
    axes = (axis for spec in specs for part in alternatives(spec) for axis in axes_of(part))
    names = (name for axis in axes for name in parts_of(axis))
    return tuple(dict.fromkeys(name for name in names if name != ANY and not name.isdigit()))


def expand_any(spec: str, rank: int) -> Axes:
    """Replace `...` by `rank` anonymous axes (`_0`, `_1`, ...)."""
    anonymous = tuple(f"_{i}" for i in range(rank))
    parts = (anonymous if axis == ANY else (axis,) for axis in axes_of(spec))
    return tuple(axis for part in parts for axis in part)


def shape_of(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    """The shape that `axes` have under `sizes`."""
    return tuple(_size(axis, sizes) for axis in axes)


def _size(axis: str, sizes: Sizes) -> int:
    """A sum of products: `"n+4*m"`."""
    products = (product.split("*") for product in axis.split("+"))
    return sum(math.prod(int(part) if part.isdigit() else sizes[part] for part in parts) for parts in products)


def describe(shape: Sequence[int], axes: Axes | None = None) -> str:
    """Text of a shape: `(bs=7, n=5)`, or `(7, 5)` where the axes have no names."""
    if axes is None or len(axes) != len(shape):
        return str(tuple(shape))
    parts = [
        f"{size}" if axis.startswith("_") or axis.isdigit() else f"{axis}={size}"
        for axis, size in zip(axes, shape, strict=True)
    ]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def guess_axes(shape: Sequence[int], sizes: Sizes) -> Axes:
    """Name each axis of a learner's array by its size, where exactly one axis has that size.

    Works because trials draw pairwise different sizes; `_` marks an axis that cannot be named.
    """
    by_size: dict[int, list[str]] = {}
    for axis, size in sizes.items():
        by_size.setdefault(size, []).append(axis)
    return tuple(by_size[size][0] if len(by_size.get(size, [])) == 1 else f"_{i}" for i, size in enumerate(shape))


def describe_guessed(shape: Sequence[int], sizes: Sizes) -> str:
    """Text of a learner's shape with the axes that its sizes give away."""
    return describe(shape, guess_axes(shape, sizes))


def name_axes(shape: Sequence[int], sizes: Sizes) -> str:
    """Axes in words, with their sizes: `bs (7 here)`, `bs and t (7 and 3 here)`."""
    names = [axis if not axis.startswith("_") else "an axis" for axis in guess_axes(shape, sizes)]
    return f"{' and '.join(names)} ({' and '.join(map(str, shape))} here)"
