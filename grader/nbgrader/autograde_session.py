"""Grades notebooks during one `nbgrader autograde`, with one course, one seed, and a warm worker for each core."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import replace

from grader.course.course import Course, CourseExercise
from grader.errors import InfrastructureError
from grader.judging.grading_pool import GradingPool, Part
from grader.results.records import ExerciseResult
from grader.sandbox.isolation import Isolation
from grader.sandbox.source_text import Files


class AutogradeSession:
    """Grade the cells of notebooks, one notebook after the other, the exercises of each in parallel.

    Args:
        course: the course to grade with; the expected numbers are never shown to students.
        isolation: how student code is isolated.
        seed: the seed of every trial; drawn at random if not given.

    Raises:
        NoGradedRuns: student code cannot be run here.
    """

    def __init__(self, course: Course, isolation: Isolation, seed: int | None = None) -> None:
        policy = course.policy.model_copy(update={"show_expected": False})
        self.course = replace(course, config=course.config.model_copy(update={"policy": policy}), _specs={})
        most = max(len(unit.ids) for unit in course.config.units)
        self.pool = GradingPool(self.course, isolation, min(os.cpu_count() or 1, most), seed)
        weakref.finalize(self, self.pool.close)  # when the command ends, or has no more need of it
        self.pool.probe()

    @property
    def seed(self) -> int:
        """Return the seed of every trial."""
        return self.pool.grader.seed

    def verdicts(
        self, exercises: Sequence[CourseExercise], cells: Sequence[str], beside: Files
    ) -> list[ExerciseResult]:
        """Grade what a notebook's code cells define; return the result of each of these exercises.

        Args:
            beside: the files in the notebook's folder, which it may import.

        Raises:
            InfrastructureError: there is none, which is not the student's doing.
            SpecError: a declaration of the course cannot be used.
        """
        self.pool.prepare(exercises)
        shares = [exercises[first :: self.pool.processes] for first in range(self.pool.processes)]
        parts = ((first, [Part(each.id, tuple(cells), beside) for each in share]) for first, share in enumerate(shares))
        try:
            graded = [found for found in self.pool.grade(parts) if found is not None]
        except BaseException:  # Ctrl-C waits for no student's code
            self.pool.close()
            raise
        if failure := next((found.failure for found in graded if found.failure), ""):
            raise InfrastructureError(f"The notebook could not be graded: {failure}")
        found = {result.id: result for each in graded for result in each.results}
        results = [found[each.id] for each in exercises]
        for result in results:
            if all(answer.status == "error" for answer in result.answers):
                raise InfrastructureError(f"{result.id} could not be graded: {result.answers[0].message}")
        return results
