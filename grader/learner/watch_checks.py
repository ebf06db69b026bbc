"""The checks of a watch: one file at a time, beside the screen, and ended where the file was saved again."""

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
class Asked:
    """A check that was asked for.

    Args:
        pictures: what is wrong is to be drawn as well.
    """

    exercise: CourseExercise
    pictures: bool = False


@dataclass(frozen=True)
class Checked:
    """A check that has come to its end.

    Args:
        result: the verdict; `None` where there can be none.
        pictures: of what is wrong, if they were asked for.
        error: why there is no verdict.
    """

    asked: Asked
    result: ExerciseResult | None = None
    pictures: ExercisePictures | None = None
    error: str = ""


class Checks:
    """What is being checked, and what waits for it.

    All of it belongs to one thread, which is told of each end by `report` and hands that to `ended`.

    Args:
        session: checks; its worker is `worker`.
        report: called from another thread with every check that has come to its end, also with one that was stopped.
    """

    def __init__(self, session: Session, worker: Worker, report: Callable[[Checked], None]) -> None:
        self.session, self.worker, self.report = session, worker, report
        self.waiting: list[Asked] = []
        self.running: Asked | None = None
        self.is_stopped = False
        self._thread: threading.Thread | None = None
        self._hashes: dict[str, str] = {e.id: file_hash(e.path) for e in session.course.exercises}
        self._modules: dict[Path, str] = {}

    def changed(self, shown: CourseExercise) -> list[CourseExercise]:
        """The exercises whose files are not as they were when they were last looked at, in teaching order.

        Args:
            shown: has changed, too, if another file in its folder has, which it may import.
        """
        found = [e for e in self.session.course.exercises if self._hashes[e.id] != file_hash(e.path)]
        exercises = {e.path for e in self.session.course.exercises}
        folder = shown.path.parent
        modules = [path for path in sorted(folder.glob("*.py")) if path not in exercises]
        now = " ".join(f"{path.name} {file_hash(path)}" for path in modules)
        is_new = self._modules.get(folder, now) != now
        self._modules[folder] = now
        return [*found, shown] if is_new and shown not in found else found

    def add(self, exercises: Iterable[CourseExercise], *, pictures: bool = False) -> None:
        """Check these next; a check that is running is ended, and comes again after them if it is none of them."""
        asked = [Asked(exercise, pictures) for exercise in exercises]
        if self.running is not None and not self.is_stopped:
            self.waiting.insert(0, self.running)
            self._stop()
        new = {each.exercise for each in asked}
        self.waiting = asked + [each for each in self.waiting if each.exercise not in new]
        for each in asked:
            self._hashes[each.exercise.id] = file_hash(each.exercise.path)
        self._start_next()

    def again(self) -> None:
        """Begin the check that is running once more: its time runs on while the program is suspended."""
        if self.running is not None and not self.is_stopped:
            self.add([self.running.exercise], pictures=self.running.pictures)

    def clear(self) -> None:
        """End the check that is running, and forget all that wait."""
        self.waiting.clear()
        self._stop()

    def is_pending(self, exercise: CourseExercise) -> bool:
        """Whether a verdict on this one is still to come."""
        running = () if self.running is None or self.is_stopped else (self.running,)
        return any(each.exercise == exercise for each in (*running, *self.waiting))

    @property
    def is_idle(self) -> bool:
        """Nothing is being checked that has not been stopped."""
        return not self.waiting and (self.running is None or self.is_stopped)

    def ended(self, checked: Checked) -> bool:
        """Go on to the next check; returns whether this one's verdict counts.

        It does not if it was stopped, or if the file has changed since: then it is checked once more.
        """
        assert self._thread is not None
        self._thread.join()
        counts, self.running, self._thread, self.is_stopped = not self.is_stopped, None, None, False
        asked = checked.asked
        if counts and checked.result is not None:
            self._hashes[asked.exercise.id] = checked.result.made_from
            if checked.result.made_from != file_hash(asked.exercise.path):
                counts = False
                self.add([asked.exercise], pictures=asked.pictures)
        self._start_next()
        return counts

    def close(self) -> None:
        """End all checks, and wait for it."""
        self.clear()
        if self._thread is not None:
            self._thread.join()

    def _stop(self) -> None:
        if self.running is not None:
            self.is_stopped = True
            self.worker.stop()

    def _start_next(self) -> None:
        if self.running is not None or not self.waiting:
            return
        self.running = self.waiting.pop(0)
        self.worker.resume()
        self._thread = threading.Thread(target=lambda asked: self.report(self._check(asked)), args=(self.running,))
        self._thread.start()

    def _check(self, asked: Asked) -> Checked:
        try:
            if asked.pictures:
                return Checked(asked, *self.session.check_with_pictures(asked.exercise))
            return Checked(asked, self.session.check(asked.exercise))
        except HandgradError as error:
            return Checked(asked, error=str(error))
