"""Fixtures of the tests of pictures: what there is to see of a submission."""

from __future__ import annotations

import pytest
from helpers.courses import SEED, with_policy
from helpers.pictures import See

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.judging.judge import Judge
from grader.rendering.picture_data import ExercisePictures, no_pictures
from grader.rendering.picture_making import make_pictures
from grader.sandbox.worker import Worker


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(SEED)


@pytest.fixture
def see(course: Course, worker: Worker, grader: Grader) -> See:
    """`see("lin_grad", source)`: what there is to see; with `expected`, in a course that shows expected values."""

    def seen(exercise_id: str, source: str | None, *, expected: bool = True) -> ExercisePictures:
        exercise = with_policy(course, show_expected=expected).find(exercise_id)
        judges: list[Judge] = []
        result = grader.grade(exercise, None if source is None else source.encode(), worker, judges.append)
        return make_pictures(exercise, result, judges[-1]) if judges else no_pictures(result)

    return seen
