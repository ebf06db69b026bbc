"""Lays out arrays as heat maps: tables of cells, each with its text and its place on a scale centred on zero.

All arrays of one picture have one scale: the same colour is the same number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.course.shapes import Axes, describe

from .picture_data import Grid, Picture

RIGHT, NOT_FINITE = "right", "not finite"
NAMELESS = "axis "
EXPONENT = re.compile(r"e\+?(-?)0*")


@dataclass(frozen=True)
class Cell:
    """One entry.

    Args:
        level: from -1 to 1, 0 for zero and for what is no number.
        mark: `RIGHT` where there is no difference, `NOT_FINITE`, or empty for a number.
    """

    text: str
    level: float = 0.0
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """Two axes of a grid, or fewer.

    Args:
        down: the name of the axis whose indices stand on the left, empty if there is none.
        across: that of the one on top.
        more: how many rows and columns were left out.
        first: the indices of the first row and column shown.
    """

    heading: str
    down: str
    across: str
    rows: tuple[tuple[Cell, ...], ...]
    more: tuple[int, int] = (0, 0)
    first: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Band:
    """Tables that belong side by side: one slice of every grid.

    Args:
        caption: which slice it is; empty where there is only one.
    """

    caption: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class TableLimits:
    """How many rows, columns and slices of an array are shown at most."""

    rows: int = 12
    columns: int = 12
    slices: int = 3


def bands(picture: Picture, limits: TableLimits) -> Iterator[Band]:
    """The picture slice by slice along all axes but the last two."""
    if len({grid.shape for grid in picture.grids}) == 1:
        yield from _side_by_side(picture.grids, limits)
    else:
        for grid in picture.grids:
            yield from _side_by_side((grid,), limits)


def heading(grid: Grid) -> str:
    """The title with the shape."""
    return f"{grid.title} {describe(grid.shape, grid.axes)}" if grid.shape else grid.title


def limit_of(*arrays: np.ndarray) -> float:
    """The largest finite magnitude in several arrays."""
    return max((_largest(array) for array in arrays), default=0.0)


def left_out(table: Table) -> str:
    """What of the array is not in the table, in words; empty if all is there."""
    counts = zip(table.more, ("row", "column"), strict=True)
    parts = [f"{count} more {what}{'s' if count > 1 else ''}" for count, what in counts if count]
    return f"and {' and '.join(parts)}" if parts else ""


def _side_by_side(grids: Sequence[Grid], limits: TableLimits) -> Iterator[Band]:
    leading = grids[0].shape[:-2]
    every = list(np.ndindex(leading))
    chosen = _furthest_off(grids[-1], every)[: limits.slices]
    for number, index in enumerate(sorted(chosen)):
        caption = ", ".join(f"{_name(grids[0].axes, axis)} = {i}" for axis, i in enumerate(index))
        if number == 0 and len(chosen) < len(every):
            compared = grids[-1].kind == "difference"
            which = "those furthest off" if compared else "the first ones"
            along = " and ".join(_name(grids[0].axes, axis) for axis in range(len(leading)))
            caption = f"{len(chosen)} of {len(every)} slices along {along} are shown, {which}\n{caption}"
        tables = tuple(_table(grid, index, limits, _worst(grids[-1], index)) for grid in grids)
        if number:
            tables = tuple(replace(table, heading=grid.title) for table, grid in zip(tables, grids, strict=True))
        yield Band(caption, tables)


def _furthest_off(grid: Grid, every: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """All slices, those in which most is wrong first."""
    if grid.kind != "difference":
        return list(every)
    off = np.nan_to_num(np.abs(grid.values), nan=np.inf)
    return sorted(every, key=lambda index: -float(np.max(off[index], initial=0)))


def _worst(grid: Grid, index: tuple[int, ...]) -> tuple[int, int]:
    """The row and column of a slice that must be seen: there most is wrong."""
    values = np.atleast_2d(grid.values[index])
    if grid.kind != "difference" or not values.size:
        return 0, 0
    off = np.nan_to_num(np.abs(values), nan=np.inf)
    row, column = divmod(int(off.argmax()), off.shape[1])
    return row, column


def _table(grid: Grid, index: tuple[int, ...], limits: TableLimits, worst: tuple[int, int]) -> Table:
    values, rank = np.atleast_2d(grid.values[index]), len(grid.shape)
    shown = [_window(*each) for each in zip(values.shape, (limits.rows, limits.columns), worst, strict=True)]
    cells = tuple(tuple(_cell(grid, float(value)) for value in row[shown[1]]) for row in values[shown[0]])
    down, across = (_name(grid.axes, rank - 2) if rank > 1 else ""), (_name(grid.axes, rank - 1) if rank else "")
    more = values.shape[0] - len(cells), max(values.shape[1] - limits.columns, 0)
    return Table(heading(grid), down, across, cells, more, (shown[0].start, shown[1].start))


def _window(size: int, room: int, wanted: int) -> slice:
    """The first `room` indices of `size`, or as many around one that would not be among them."""
    start = 0 if wanted < room else min(wanted - room // 2, size - room)
    return slice(start, start + room)


def _cell(grid: Grid, value: float) -> Cell:
    if not math.isfinite(value):
        return Cell(f"{value:g}", mark=NOT_FINITE)
    if value == 0:
        return Cell(".", mark=RIGHT) if grid.kind == "difference" else Cell("." if grid.shaded else "0")
    level = value / grid.limit if grid.limit else 0.0
    return Cell(_shade(level) if grid.shaded else number(value), max(-1.0, min(1.0, level)))


def _shade(level: float) -> str:
    """A sign, twice for what is more than half of the largest: to be told apart without colours, and no number."""
    return ("+" if level > 0 else "-") * (2 if abs(level) > 0.5 else 1)


def number(value: float) -> str:
    """Three digits that count: `1.50`, `738`, `-8.74e3`."""
    return EXPONENT.sub(r"e\1", f"{value:#.3g}").rstrip(".")


def _name(axes: Axes, axis: int) -> str:
    known = axes[axis] if axis < len(axes) else "_"
    return f"{NAMELESS}{axis}" if known.startswith("_") or known.isdigit() else known


def _largest(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0.0))
