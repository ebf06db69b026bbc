"""Every other way to lose a grading process; see `test_grading_pool`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import solution
from test_grading_pool import NAME, attack, bloat, fail, freeze, graded, hostile, leave, stop

from grader.course import Course
from grader.judging.grading_pool import Part

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


SLOWLY_READ = {  # in time that grows with the square of the length
    "a name of combining characters": "x = a" + "\u0301\u0327" * 200_000,
    "a chain of modules": f"import {'a.' * 400_000}a",
    "one huge f-string": f"x = f'{'{x}' * 300_000}'",
}


@pytest.mark.parametrize("source", SLOWLY_READ.values(), ids=SLOWLY_READ)
def test_a_source_that_python_reads_slowly_takes_nobodys_points(source: str, course: Course) -> None:
    honest = [Part(NAME, solution(course, NAME))]
    results = graded(course, honest, [Part(NAME, source.encode())], honest, honest)
    assert [results[student][0].status for student in range(4)] == ["passed", "failed", "passed", "passed"]
