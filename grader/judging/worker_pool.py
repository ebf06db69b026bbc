"""The worker processes of a graded run, each replaced when it is lost, and a second try where the grader itself failed.

Threads share them, and there is one thread more than there are workers: while it judges one file, the code of the
next ones is running already.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from grader.course import CourseExercise
from grader.errors import InfrastructureError
from grader.results import ExerciseResult
from grader.sandbox.isolation import Isolation
from grader.sandbox.warm_process import Closing
from grader.sandbox.worker import Reply, Worker, start_worker

GradeWith = Callable[[Worker], ExerciseResult]
STOPPED = "the run was stopped"


class WorkerPool(Closing):
    """Worker processes that are used as one worker: each job runs in the first process that is free.

    Args:
        isolation: what learner code is kept in.
        workers: how many processes there are; all of them start now.
    """

    def __init__(self, isolation: Isolation, workers: int) -> None:
        self.isolation: Isolation = isolation
        self.threads = workers + 1
        self.closed = False
        self._starting = threading.Lock()
        self._workers: set[Worker] = set()
        self._free: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
        try:
            for _ in range(workers):
                self._free.put(self._start_worker())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Run nothing more, whatever is running now."""
        with self._starting:
            self.closed = True
        for worker in tuple(self._workers):
            worker.close()

    def run(self, job: bytes, time_limit: float) -> Reply:
        """Answer one job frame within `time_limit` seconds of its start, which may have to wait.

        Raises:
            InfrastructureError: the process was lost, or the run was stopped.
        """
        worker = self._free.get()
        try:
            worker = worker or self._start_worker()
            return worker.run(job, time_limit)
        except BaseException:
            if worker is not None:
                worker.close()
                self._workers.discard(worker)
                worker = None
            raise
        finally:
            self._free.put(worker)

    def _start_worker(self) -> Worker:
        with self._starting:
            if self.closed:
                raise InfrastructureError(STOPPED)
            worker = start_worker(isolation=self.isolation)
            self._workers.add(worker)
            return worker

    def grade(self, exercise: CourseExercise, grade_with: GradeWith) -> ExerciseResult:
        """The verdict on one exercise; tried again with a fresh process where the grader itself failed.

        Args:
            grade_with: grades it with a worker.
        """
        result = self._try(exercise, grade_with)
        return result if result.status != "error" else self._try(exercise, grade_with)

    def _try(self, exercise: CourseExercise, grade_with: GradeWith) -> ExerciseResult:
        if self.closed:
            return exercise.unread_result(STOPPED)
        try:
            return grade_with(self)
        except Exception as error:  # one submission never stops the rest
            says = f"the grader failed ({type(error).__name__}: {error}): run the same command again"
            return exercise.unread_result(says)
