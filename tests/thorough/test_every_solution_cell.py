"""The solution cell of every exercise in its unit's notebook; `test_notebook` has one in eight."""

from __future__ import annotations

import pytest
import test_notebook
from test_notebook import FUNCTIONS


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.id)
def test_the_solution_cell_is_the_worked_file_and_its_stub_the_one_of_the_exercises(exercise):
    test_notebook.test_the_solution_cell_is_the_worked_file_and_its_stub_the_one_of_the_exercises(exercise)
