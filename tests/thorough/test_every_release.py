"""Every unit released by nbgrader: the tests are those of the short suite."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from test_nbgrader_release import (
    REAL,
    released,
    test_a_release_holds_no_solution_no_hidden_test_and_no_seed,
    test_a_released_exercise_is_the_stub_of_the_exercises_folder,
)

from grader.course.course import CourseExercise


@pytest.fixture(scope="module")
def units() -> Sequence[str]:
    return [unit.id for unit in REAL.config.units]


@pytest.fixture(params=[exercise.id for exercise in REAL.exercises])
def exercise(request: pytest.FixtureRequest) -> CourseExercise:
    return REAL.find(request.param)
