"""Arrays as tables of cells: what is printed in them, how strong their colour is, which slices are shown."""

from __future__ import annotations

import numpy as np
import pytest

from grader.rendering.heat_maps import Band, Table, TableLimits, bands, largest_magnitude, omission
from grader.rendering.picture_data import Grid, Kind, Picture


def grid(values: np.ndarray, *, title: str = "yours", axes: str = "", kind: Kind = "values") -> Grid:
    values = np.asarray(values, dtype="float64")
    names = tuple(axes.split()) or tuple(f"_{i}" for i in range(values.ndim))
    return Grid(title, names, values, kind, largest_magnitude(values))


def only(*grids: Grid, room: TableLimits | None = None) -> list[Band]:
    return list(bands(Picture("w.g", "", grids), room or TableLimits()))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_matrix_is_one_table_with_the_names_of_its_axes() -> None:
    (band,) = only(grid([[1.0, -2.0], [0.0, 0.5]], axes="n m"))
    (table,) = band.tables
    assert (band.caption, table.heading, table.down, table.across) == ("", "yours (n=2, m=2)", "n", "m")
    assert texts(table) == [["1.00", "-2.00"], ["0", "0.500"]]
    assert [[cell.level for cell in row] for row in table.rows] == [[0.5, -1.0], [0.0, 0.25]]


def test_a_vector_is_one_row_and_a_scalar_one_cell() -> None:
    ((vector,), (scalar,)) = (only(grid(values, axes=axes))[0].tables for values, axes in (([1, 2, 3], "m"), (4.0, "")))
    assert (vector.down, vector.across, texts(vector)) == ("", "m", [["1.00", "2.00", "3.00"]])
    assert (scalar.heading, scalar.down, scalar.across, texts(scalar)) == ("yours", "", "", [["4.00"]])


def test_an_axis_without_a_name_is_called_by_its_number() -> None:
    (table,) = only(grid(np.ones((2, 1)), axes="bs 1"))[0].tables
    assert (table.down, table.across, table.heading) == ("bs", "axis 1", "yours (bs=2, 1)")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.074, "0.0740"), (-0.011, "-0.0110"), (12.34, "12.3"), (-0.5, "-0.500"), (738.2, "738"), (5.0, "5.00"),
        (8745.0, "8.74e3"), (3.2e-5, "3.20e-5"), (-1e-12, "-1.00e-12"), (999.7, "1.00e3"), (1e100, "1.00e100"),
        (0.0, "0"), (-0.0, "0"),
    ],
)  # fmt: skip
def test_every_number_has_three_significant_digits(value: float, text: str) -> None:
    assert texts(only(grid([value], axes="m"))[0].tables[0]) == [[text]]


def test_nonfinite_entries_are_marked_and_do_not_stretch_the_scale() -> None:
    (table,) = only(grid([np.nan, np.inf, -np.inf, 2.0], axes="m"))[0].tables
    assert texts(table) == [["nan", "inf", "-inf", "2.00"]]
    assert [(cell.mark, cell.level) for cell in table.rows[0]] == [("not finite", 0.0)] * 3 + [("", 1.0)]


def test_all_grids_of_a_picture_share_their_scale() -> None:
    yours, right = np.array([1000.0, 4000.0]), np.array([2000.0, 4000.0])
    off = yours - right
    limit = largest_magnitude(yours, right, off)
    grids = [Grid("", ("m",), values, limit=limit) for values in (yours, right)]
    tables = only(*grids, Grid("", ("m",), off, "difference", limit))[0].tables
    assert [[cell.level for cell in table.rows[0]] for table in tables] == [[0.25, 1.0], [0.5, 1.0], [-0.25, 0.0]]
    assert [texts(table)[0] for table in tables] == [["1.00e3", "4.00e3"], ["2.00e3", "4.00e3"], ["-1.00e3", "."]]
    assert tables[2].rows[0][1].mark == "right"


def test_rows_and_columns_around_the_worst_entry_are_shown() -> None:
    values, off = np.arange(60.0).reshape(6, 10), np.zeros((6, 10))
    off[5, 4] = 1
    grids = grid(values, axes="n m"), grid(off, axes="n m", kind="difference")
    yours, difference = only(*grids, room=TableLimits(rows=2, columns=4))[0].tables
    assert (yours.first, yours.more, difference.first) == ((4, 2), (4, 6), (4, 2))
    assert texts(yours) == [["42.0", "43.0", "44.0", "45.0"], ["52.0", "53.0", "54.0", "55.0"]]
    assert difference.rows[1][2].text == "1.00"


def test_only_the_slices_that_are_furthest_off_are_shown_and_counted() -> None:
    values = np.ones((5, 2, 2))
    off = np.zeros((5, 2, 2))
    off[1, 0, 0], off[3, 1, 1], off[4, 0, 1] = 0.1, np.nan, -3.0
    found = only(grid(values, axes="bs t n"), grid(off, axes="bs t n", kind="difference"), room=TableLimits(slices=2))
    assert [band.caption for band in found] == [
        "2 of 5 slices along bs: those furthest off\nbs = 3",
        "bs = 4",
    ]
    assert [[table.heading for table in band.tables] for band in found] == [
        ["yours (bs=5, t=2, n=2)"] * 2,
        ["yours", "yours"],
    ]
    assert texts(found[0].tables[1]) == [[".", "."], [".", "nan"]]


def test_several_leading_axes_are_all_named() -> None:
    found = only(grid(np.ones((2, 3, 2, 2)), axes="bs _1 h w"), room=TableLimits(slices=1))
    assert [band.caption for band in found] == ["1 of 6 slices along bs and axis 1: the first ones\nbs = 0, axis 1 = 0"]


def test_arrays_of_different_shapes_are_sliced_each_on_its_own() -> None:
    found = only(grid(np.ones((2, 2, 3)), axes="bs n m"), grid(np.ones((2, 3)), title="nudged", axes="n m"))
    assert [[table.heading for table in band.tables] for band in found] == [
        ["yours (bs=2, n=2, m=3)"],
        ["yours"],
        ["nudged (n=2, m=3)"],
    ]
    assert texts(found[2].tables[0]) == [["1.00"] * 3] * 2


def test_rows_and_columns_that_are_not_shown_are_counted() -> None:
    (table,) = only(grid(np.ones((40, 13)), axes="bs n"), room=TableLimits(rows=4, columns=12))[0].tables
    assert (len(table.rows), len(table.rows[0])) == (4, 12)
    assert omission(table) == "and 36 more rows and 1 more column"


def test_an_array_without_entries_is_only_its_heading() -> None:
    (table,) = only(grid(np.ones((0, 3)), axes="bs n"))[0].tables
    assert (table.heading, table.rows) == ("yours (bs=0, n=3)", ())
