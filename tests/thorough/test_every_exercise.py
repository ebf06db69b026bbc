"""What the short suite shows of one exercise of each unit, of every exercise of the course."""

from __future__ import annotations

import pytest
from helpers.grading import Grade
from test_course_programs import EXERCISES, assert_right_answers
from test_grading import test_every_worked_solution_passes
from test_judge import assert_numpy_answers_are_right

from grader.course.course import Course, CourseExercise


@pytest.fixture(scope="session")
def exercises(course: Course) -> list[CourseExercise]:
    return [exercise for exercise in course.exercises if not exercise.is_quiz]


def test_every_stub_is_still_to_do(course: Course, grade: Grade) -> None:
    for exercise in course.exercises:
        result = grade(exercise.id, exercise.path.read_bytes())
        assert result.status in {"todo", "failed"}
        assert result.score == 0


@pytest.mark.parametrize("name", EXERCISES)
def test_the_program_has_the_right_answers(name: str) -> None:
    assert_right_answers(EXERCISES[name])


def test_of_every_exercise_numpy_answers_are_right(exercises: list[CourseExercise], grade: Grade) -> None:
    assert_numpy_answers_are_right(exercises, grade)
