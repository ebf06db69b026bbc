"""A worker that prefetched for one session serves the next one."""

from __future__ import annotations

from test_session import RIGHT, course

from grader.course.course import Course
from grader.learner.session import Session
from grader.sandbox.worker import start_worker

__all__ = ["course"]


def test_a_worker_outlives_a_sitting_that_worked_ahead(course: Course) -> None:
    """What is running when a sitting ends is stopped; the next one is not."""
    exercise = course.find("lin_grad")
    exercise.path.write_text(RIGHT)
    with start_worker("none") as worker:
        for _ in range(2):
            with Session(course, worker) as sitting:
                sitting.expect(course.exercises[:20])  # more than are worked out before it ends
                assert [sitting.check(exercise).status for _ in range(3)] == ["passed"] * 3
