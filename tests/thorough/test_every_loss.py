"""Every other way to lose a grading process; see `test_grading_pool`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import solution
from test_grading_pool import NAME, attack, bloat, burn, fail, freeze, graded, hostile, leave, stop

from grader.course import Course
from grader.judging.grading_pool import Part

__all__ = ["hostile"]


@pytest.mark.parametrize(
    ("happen", "status", "says"),
    [
        (burn, "failed", "judging it took more than 1.5 seconds of processor time"),
        (bloat, "failed", "judging it takes more memory than there is for one exercise"),
        (leave, "error", "the grading process was lost (it ended with 0)"),
        (stop, "error", "the grading process was lost (it did not answer any more)"),
        (freeze, "error", "the grading process was lost (it did not answer any more)"),
        (fail, "error", "the grader failed (ZeroDivisionError: division by zero)"),
    ],
)
def test_who_loses_the_grading_process_loses_that_exercise_alone(
    happen: Callable[[], None], status: str, says: str, course: Course, hostile: Callable[..., None]
) -> None:
    attack(happen, status, says, course, hostile)


def test_whoever_ends_the_child_takes_nobody_along(course: Course) -> None:
    """Nor the next exercise of the same student."""
    ends = ["import os\nos._exit(1)", "while True:\n    pass", "def", "raise ValueError", "..."]
    found = graded(course, *([Part("tanh_grad", end.encode()), Part(NAME, solution(course, NAME))] for end in ends))
    statuses = {ends[student]: tuple(result.status for result in results) for student, results in found.items()}
    assert statuses == dict.fromkeys(ends, ("failed", "passed"))
