"""Every other way to lose a grading process; see `test_grading_pool`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_grading_pool import attack, bloat, fail, freeze, hostile, leave, stop

from grader.course import Course

__all__ = ["hostile"]


@pytest.mark.parametrize(
    ("happen", "status", "says"),
    [
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
