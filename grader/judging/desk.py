"""A worker process for graded runs, replaced when it is lost, and a second try where the grader itself failed."""

from __future__ import annotations

from collections.abc import Callable

from grader.course import CourseExercise
from grader.results import ExerciseResult
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Worker, start_worker

Ask = Callable[[Worker], ExerciseResult]


class Desk:
    """A worker process, replaced when it is lost."""

    def __init__(self, isolation: Isolation) -> None:
        self.isolation: Isolation = isolation
        self.worker: Worker | None = start_worker(isolation=isolation)
        self.stopped = False

    def stop(self) -> None:
        """Grade nothing more, whatever is being graded now."""
        self.stopped = True
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()

    def grade(self, exercise: CourseExercise, ask: Ask) -> ExerciseResult:
        """The verdict on one exercise; asked for again, of a fresh worker, where the grader itself failed.

        Args:
            ask: asks a worker for it.
        """
        result = self._try(exercise, ask)
        return result if result.status != "error" else self._try(exercise, ask)

    def _try(self, exercise: CourseExercise, ask: Ask) -> ExerciseResult:
        if self.stopped:
            return exercise.unread("the run was stopped")
        worker: Worker | None = None
        try:
            worker = self.worker = self.worker or start_worker(isolation=self.isolation)
            result = ask(worker)
        except Exception as error:  # one submission never stops the rest
            says = f"the grader failed ({type(error).__name__}: {error}): run the same command again"
            result = exercise.unread(says)
        if result.status == "error" and worker is not None:
            self.worker = None
            worker.close()
        return result
