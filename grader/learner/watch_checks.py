"""The checks of watch mode: one file at a time in a thread, which is stopped if another check is more urgent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.course.course import CourseExercise
from grader.errors import HandgradError
from grader.rendering.picture_data import ExercisePictures
from grader.results.records import ExerciseResult
from grader.sandbox.worker import Worker

from .progress import file_hash
from .session import Session


@dataclass(frozen=True)
class CheckRequest:
    """A request to check an exercise.

    Args:
        exercise: the exercise.
        pictures: whether mistakes are to be drawn as well.
    """

    exercise: CourseExercise
    pictures: bool = False


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of a check, or the verdicts before its end.

    Args:
        request: the request.
        result: the verdicts; `None` if the exercise could not be checked.
        pictures: of the mistakes, if they were requested.
        error: why there is no verdict.
        is_final: whether the check has ended; if not, the mistakes in wrong answers are still being looked for.
    """

    request: CheckRequest
    result: ExerciseResult | None = None
    pictures: ExercisePictures | None = None
    error: str = ""
    is_final: bool = True


class Checks:
    """Run the check in progress, and keep the queue of those that wait.

    All methods are to be called from one thread. It passes each outcome that `report` receives on to `finish`.

    Args:
        session: checks the exercises.
        worker: the worker of this session.
        report: called in another thread with the outcome of every check, also of one that was stopped; and before it,
            where a mistake is to be looked for, with the verdicts.
    """

    def __init__(self, session: Session, worker: Worker, report: Callable[[CheckOutcome], None]) -> None:
        """Begin with no check, and note the hash of every exercise's current file.

        `report` is called with each outcome.
        """
        self.session, self.worker, self.report = session, worker, report
        self.waiting: list[CheckRequest] = []
        self.running: CheckRequest | None = None
        self.is_stopped = False
        self._thread: threading.Thread | None = None
        self._hashes: dict[str, str] = {e.id: file_hash(e.path) for e in session.course.exercises}
        self._modules: dict[Path, str] = {}

    def changed(self, shown: CourseExercise) -> list[CourseExercise]:
        """Return the exercises whose files have changed since their last check or request for one, in teaching order.

        Args:
            shown: an exercise that counts as changed as well if another Python file in its folder, which it may import,
                has changed since the last call.
        """
        exercises, folder = self.session.course.exercises, shown.path.parent
        paths = {exercise.path for exercise in exercises}
        modules = [path for path in sorted(folder.glob("*.py")) if path not in paths]
        now = " ".join(f"{path.name} {file_hash(path)}" for path in modules)
        is_new = self._modules.get(folder, now) != now
        self._modules[folder] = now
        return [e for e in exercises if self._hashes[e.id] != file_hash(e.path) or (is_new and e == shown)]

    def add(self, exercises: Iterable[CourseExercise], *, pictures: bool = False) -> None:
        """Check these exercises next.

        The check in progress is stopped. It is repeated after them unless its exercise is among them.

        Args:
            exercises: the exercises, the most urgent first.
            pictures: whether mistakes are to be drawn as well.
        """
        requests = [CheckRequest(exercise, pictures) for exercise in exercises]
        if self.running is not None and not self.is_stopped:
            self.waiting.insert(0, self.running)
            self._stop()
        new = {request.exercise for request in requests}
        self.waiting = requests + [request for request in self.waiting if request.exercise not in new]
        for exercise in new:
            self._hashes[exercise.id] = file_hash(exercise.path)
        self._start_next()

    def restart(self) -> None:
        """Stop the check in progress and begin it again: while the program is suspended, its time limit runs on."""
        if self.running is not None and not self.is_stopped:
            self.add([self.running.exercise], pictures=self.running.pictures)

    def clear(self) -> None:
        """Stop the check in progress, and drop all checks that wait."""
        self.waiting.clear()
        self._stop()

    def is_pending(self, exercise: CourseExercise) -> bool:
        """Return whether a check of this exercise is in progress or waits."""
        running = () if self.running is None or self.is_stopped else (self.running,)
        return any(request.exercise == exercise for request in (*running, *self.waiting))

    @property
    def is_idle(self) -> bool:
        """Return whether no check waits or is in progress, except one that was stopped."""
        return not self.waiting and (self.running is None or self.is_stopped)

    def is_of_running_check(self, outcome: CheckOutcome) -> bool:
        """Return whether an early outcome, which has verdicts but no mistakes yet, is of the check in progress.

        False if its check was stopped meanwhile.
        """
        return outcome.request is self.running and not self.is_stopped

    def finish(self, outcome: CheckOutcome) -> bool:
        """Begin the next check after one has ended.

        Args:
            outcome: the outcome of the check that has ended.

        Returns:
            Whether the outcome is valid: false if the check was stopped, or if the file has changed meanwhile, which is
            then checked again.
        """
        assert self._thread is not None
        self._thread.join()
        is_valid, self.running, self._thread, self.is_stopped = not self.is_stopped, None, None, False
        exercise, result = outcome.request.exercise, outcome.result
        if is_valid and result is not None:
            self._hashes[exercise.id] = result.made_from
            if result.made_from != file_hash(exercise.path):
                is_valid = False
                self.add([exercise], pictures=outcome.request.pictures)
        self._start_next()
        return is_valid

    def close(self) -> None:
        """Stop all checks, and wait until the one in progress has ended."""
        self.clear()
        if self._thread is not None:
            self._thread.join()

    def _stop(self) -> None:
        """Stop the check in progress, if there is one; its outcome is still reported, and `finish` calls it invalid."""
        if self.running is not None:
            self.is_stopped = True
            self.worker.stop()

    def _start_next(self) -> None:
        """Resume the worker, and start a thread for the request that waits at the front; it leaves the queue.

        Do nothing if a check is in progress or none waits.
        """
        if self.running is not None or not self.waiting:
            return
        self.running = self.waiting.pop(0)
        self.worker.resume()
        self._thread = threading.Thread(target=lambda request: self.report(self._check(request)), args=(self.running,))
        self._thread.start()

    def _check(self, request: CheckRequest) -> CheckOutcome:
        """Return the outcome of one check: the result, or the message of its error; runs in the thread of the check."""
        try:
            if request.pictures:
                return CheckOutcome(request, *self.session.check_with_pictures(request.exercise))
            marked = lambda result: self.report(CheckOutcome(request, result, is_final=False))  # noqa: E731
            return CheckOutcome(request, self.session.check(request.exercise, on_verdicts=marked))
        except HandgradError as error:
            return CheckOutcome(request, error=str(error))
