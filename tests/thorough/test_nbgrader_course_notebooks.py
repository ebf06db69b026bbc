"""Notebooks of an nbgrader course folder: cells that an instructor adds stay, and every notebook is valid."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_nbgrader_course import LINEAR, REAL, own
from test_notebook import assert_valid

from grader.course.course_file import Unit
from grader.errors import InfrastructureError
from grader.nbgrader.course_folder import build_folder, merge_cells


@given(st.lists(st.integers(0, len(LINEAR.cells)), max_size=6))
def test_own_cells_stay_wherever_they_were_put(places: list[int]):
    existing = nbformat.from_dict(LINEAR)
    for number, place in enumerate(places):
        existing.cells.insert(place, own(f"note {number}", "" if number % 2 else f"task-{number}"))
    assert merge_cells(LINEAR, existing) == existing
    assert merge_cells(LINEAR, merge_cells(LINEAR, existing)) == existing


def test_a_file_in_the_way_is_named(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InfrastructureError, match=r"notes\.txt is not a folder: name a new one"):
        build_folder(REAL, tmp_path / "notes.txt")
    with pytest.raises(InfrastructureError, match=r"notes\.txt.* cannot be written .*make it writable"):
        build_folder(REAL, tmp_path / "notes.txt" / "nb")


@pytest.mark.parametrize("unit", REAL.config.units, ids=lambda unit: unit.id)
def test_it_is_valid_for_nbformat_and_for_nbgrader_and_the_same_each_time(unit: Unit) -> None:
    assert_valid(unit)
