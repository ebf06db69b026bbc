"""Arrays as heat maps: tables of cells, each with its text and its level on a scale centred on zero.

All arrays of a picture share a scale: equal colours are equal numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.course.shapes import Axes, describe

from .picture_data import Figure, Grid, Picture

RIGHT, NOT_FINITE = "right", "not finite"
NAMELESS = "axis "
APART = 8.0  # times that one array of a scatter may be larger than the other, on a common scale
EXPONENT = re.compile(r"e\+?(-?)0*")


@dataclass(frozen=True)
class Cell:
    """An entry of an array as it is shown.

    Args:
        text: the number, or what stands in its place.
        level: from -1 to 1; 0 for zero and for what is not finite.
        mark: `RIGHT` where there is no difference, `NOT_FINITE`, or empty for a number.
    """

    text: str
    level: float = 0.0
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """The last two axes of a grid, or fewer, at fixed indices of all others.

    Args:
        heading: the title of the grid, with its shape in the first table.
        down: the name of the axis whose indices label the rows; empty if there is none.
        across: the name of the axis whose indices label the columns; empty if there is none.
        rows: the cells that are shown.
        more: the numbers of rows and of columns that are not shown.
        first: the indices of the first row and column that are shown.
    """

    heading: str
    down: str
    across: str
    rows: tuple[tuple[Cell, ...], ...]
    more: tuple[int, int] = (0, 0)
    first: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Band:
    """Tables that belong side by side: the same slice of every grid.

    Args:
        caption: the indices of the slice; empty where there is only one.
        tables: a table for each grid.
    """

    caption: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class TableLimits:
    """The numbers of rows, columns and slices of an array that are shown at most."""

    rows: int = 12
    columns: int = 12
    slices: int = 3


def bands(picture: Picture, limits: TableLimits) -> Iterator[Band]:
    """Yield the bands of a picture, each of which is the tables of one slice, along the last two axes, in every grid.

    If the grids have different shapes, the bands of each grid hold that grid's table alone. At most as many slices are
    shown as `limits` allows.
    """
    if len({grid.shape for grid in picture.grids}) == 1:
        yield from _slices_side_by_side(picture.grids, limits)
    else:
        for grid in picture.grids:
            yield from _slices_side_by_side((grid,), limits)


def heading(grid: Grid) -> str:
    """Return the title of a grid with its shape."""
    return f"{grid.title} {describe(grid.shape, grid.axes)}" if grid.shape else grid.title


def largest_magnitude(*arrays: np.ndarray) -> float:
    """Return the largest finite magnitude in several arrays; 0 if there is none."""
    return max((_largest_finite(array) for array in arrays), default=0.0)


def scatter_limits(figure: Figure) -> tuple[float, float]:
    """Return the greatest number on the horizontal and on the vertical axis of a scatter, which begin at minus that.

    The two are equal unless one array is much larger than the other.
    """
    largest = [largest_magnitude(series.values) for series in figure.series[:2]]
    across, up = (own or max(largest) or 1.0 for own in largest)  # an array of zeros has no scale of its own
    end = max(across, up)
    return (across, up) if end > APART * min(across, up) else (end, end)


def omission(table: Table) -> str:
    """Return how many rows and columns of an array a table leaves out, as "and 2 more rows"; empty if none."""
    counts = zip(table.more, ("row", "column"), strict=True)
    parts = [f"{count} more {what}{'s' if count > 1 else ''}" for count, what in counts if count]
    return f"and {' and '.join(parts)}" if parts else ""


def _slices_side_by_side(grids: Sequence[Grid], limits: TableLimits) -> Iterator[Band]:
    """Yield the bands of grids with the same shape: first the slice that is furthest off, then the others in order.

    If there are more slices than `limits` allows, those that are furthest off are chosen. How far off a slice is, is
    read from the last grid, if it is a difference; if it is none, the first slices are chosen. Each band shows one
    slice of all grids.
    """
    leading = grids[0].shape[:-2]
    indices = list(np.ndindex(leading))
    chosen = _furthest_off(grids[-1], indices)[: limits.slices]
    for number, index in enumerate([*chosen[:1], *sorted(chosen[1:])]):
        caption = ", ".join(f"{_axis_name(grids[0].axes, axis)} = {i}" for axis, i in enumerate(index))
        if number == 0 and len(chosen) < len(indices):
            compared = grids[-1].kind == "difference"
            which = "those furthest off" if compared else "the first ones"
            along = " and ".join(_axis_name(grids[0].axes, axis) for axis in range(len(leading)))
            caption = f"{len(chosen)} of {len(indices)} slices along {along}: {which}\n{caption}"
        tables = tuple(_slice_table(grid, index, limits, _worst(grids[-1], index)) for grid in grids)
        if number:
            tables = tuple(replace(table, heading=grid.title) for table, grid in zip(tables, grids, strict=True))
        yield Band(caption, tables)


def _furthest_off(grid: Grid, indices: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the indices of slices sorted by the largest magnitude in each slice, the largest first.

    NaN counts as infinity, and a slice without entries as 0.

    Args:
        grid: the grid; if it is no difference, the order stays as it is.
        indices: the index of each slice, along all axes but the last two.
    """
    if grid.kind != "difference":
        return list(indices)
    off = np.nan_to_num(np.abs(grid.values), nan=np.inf)
    return sorted(indices, key=lambda index: -float(np.max(off[index], initial=0)))


def _worst(grid: Grid, index: tuple[int, ...]) -> tuple[int, int]:
    """Return the row and the column of the entry that the table of the slice at `index` must show.

    In a difference that is the entry of the greatest magnitude, NaN and infinity before all; in any other grid it is
    (0, 0).
    """
    values = np.atleast_2d(grid.values[index])
    if grid.kind != "difference" or not values.size:
        return 0, 0
    off = np.nan_to_num(np.abs(values), nan=np.inf)
    row, column = divmod(int(off.argmax()), off.shape[1])
    return row, column


def _slice_table(grid: Grid, index: tuple[int, ...], limits: TableLimits, worst: tuple[int, int]) -> Table:
    """Return the table of a grid's slice; a grid with a single axis or none is one row.

    Args:
        grid: the grid.
        index: the indices of the slice, along all axes but the last two.
        limits: the numbers of rows and columns that are shown at most.
        worst: the row and the column of an entry that must be shown.
    """
    values, rank = np.atleast_2d(grid.values[index]), len(grid.shape)
    rows = _window(values.shape[0], limits.rows, worst[0])
    columns = _window(values.shape[1], limits.columns, worst[1])
    cells = tuple(tuple(_cell(grid, float(value)) for value in row[columns]) for row in values[rows])
    down, across = (
        (_axis_name(grid.axes, rank - 2) if rank > 1 else ""),
        (_axis_name(grid.axes, rank - 1) if rank else ""),
    )
    more = values.shape[0] - len(cells), max(values.shape[1] - limits.columns, 0)
    return Table(heading(grid), down, across, cells, more, (rows.start, columns.start))


def _window(size: int, room: int, wanted: int) -> slice:
    """Return the first `room` of `size` indices, or `room` indices around `wanted` if it is not among the first."""
    start = 0 if wanted < room else min(wanted - room // 2, size - room)
    return slice(start, start + room)


def _cell(grid: Grid, value: float) -> Cell:
    """Return the cell of a value: its number, or only its sign in a shaded grid; NaN and infinity are marked.

    0 is a dot in a shaded grid and in a difference, where it is marked as right.
    """
    if not math.isfinite(value):
        return Cell(f"{value:g}", mark=NOT_FINITE)
    if value == 0:
        return Cell(".", mark=RIGHT) if grid.kind == "difference" else Cell("." if grid.shaded else "0")
    level = value / grid.limit if grid.limit else 0.0
    return Cell(_shade(level) if grid.shaded else number(value), max(-1.0, min(1.0, level)))


def _shade(level: float) -> str:
    """Return the sign of a confidential number in its place: `+` or `-`, doubled if it is above half of the largest.

    Args:
        level: the entry divided by the largest absolute value of the grid, between -1 and 1; neither 0 nor NaN.
    """
    return ("+" if level > 0 else "-") * (2 if abs(level) > 0.5 else 1)


def number(value: float) -> str:
    """Return a number with three significant digits: `1.50`, `738`, `-8.74e3`."""
    return EXPONENT.sub(r"e\1", f"{value:#.3g}").rstrip(".")


def _axis_name(axes: Axes, axis: int) -> str:
    """Return the name of the axis with this index; `NAMELESS` and the index, as one word, if the axis has no name."""
    known = axes[axis] if axis < len(axes) else "_"
    return f"{NAMELESS}{axis}" if known.startswith("_") or known.isdigit() else known


def _largest_finite(array: np.ndarray) -> float:
    """Return the largest absolute value in an array of any shape, NaN and infinity left out; 0.0 if it has no other."""
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0.0))
