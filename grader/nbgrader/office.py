"""What grades notebooks during one `nbgrader autograde`: a course, a seed, and one warm worker for all students."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace

from grader.course import Course, CourseExercise
from grader.errors import InfrastructureError
from grader.judging.desk import Desk
from grader.results import ExerciseResult
from grader.sandbox.isolation import Isolation


class Office:
    """Grades the cells of notebooks, one after the other.

    Args:
        course: whose declarations are graded by; students are never shown the numbers that were expected.
        isolation: what student code is kept in.
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, course: Course, isolation: Isolation, seed: int | None = None) -> None:
        policy = course.policy.model_copy(update={"show_expected": False})
        self.course = replace(course, config=course.config.model_copy(update={"policy": policy}), _specs={})
        self.desk = Desk(isolation)
        weakref.finalize(self, self.desk.stop)  # when the command ends, or has no more need of it
        from grader.judging.grading import Grader  # imports torch, beside the worker

        self.grader = Grader(seed)

    def verdict(self, exercise: CourseExercise, cells: Sequence[str]) -> ExerciseResult:
        """The verdict on what a notebook's code cells define.

        Raises:
            InfrastructureError: there is none, which is not the student's doing.
        """
        result = self.desk.grade(exercise, lambda worker: self.grader.grade_cells(exercise, cells, worker))
        if result.status == "error":
            raise InfrastructureError(f"{exercise.id} could not be graded: {result.answers[0].message}")
        return result
