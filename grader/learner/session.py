"""One session of a learner or instructor: the course, a worker that warms up meanwhile, and a grader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.course import Course, CourseExercise
from grader.errors import HandgradError, InfrastructureError, SpecError
from grader.judging.lazy_grader import new_grader
from grader.rendering.picture_data import ExercisePictures, Picture, no_pictures
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import Content, importable_files
from grader.sandbox.warm_process import Closing
from grader.sandbox.worker import Worker, start_worker

from .checks_ahead import ChecksAhead
from .progress import Progress

if TYPE_CHECKING:
    from grader.judging.grading import Grader, OnJudged
    from grader.judging.judge import Judge


class Session(Closing):
    """Checks exercises of one course; torch is imported here on the first check, beside the worker's own import.

    Args:
        course: the course.
        worker: one that is warming up already; started on the first check otherwise.
    """

    def __init__(self, course: Course, worker: Worker | None = None) -> None:
        self.course = course
        self._worker = worker
        self._ahead: ChecksAhead | None = None

    @cached_property
    def progress(self) -> Progress:
        return Progress.load(self.course.root)

    @cached_property
    def grader(self) -> Grader:
        try:
            return new_grader()
        except ModuleNotFoundError as error:
            raise InfrastructureError(f"{error.name} is not installed here: run `pip install {error.name}`.") from error

    def warm_up(self) -> Worker:
        """Start the worker process, once; it imports torch while this process does other things."""
        if self._worker is None:
            self._worker = start_worker("none")
        return self._worker

    def expect(self, exercises: Sequence[CourseExercise]) -> None:
        """These are going to be checked in this order, so that work can be done ahead."""
        self._ahead = ChecksAhead(exercises, lambda parts: self.grader.together(parts, self.warm_up()))

    def check(self, exercise: CourseExercise, on_judged: OnJudged | None = None) -> ExerciseResult:
        """The verdict on the learner's file as it is now, with the hash of what was read.

        Args:
            on_judged: called with the judge, once its verdict is there.

        Raises:
            SpecError: the exercise's own declaration is broken; names it.
        """
        if not exercise.is_quiz:
            self.warm_up()
        if self._ahead is not None and (settled := self._ahead.settled(exercise)) is not None:
            return settled
        folder = exercise.path.parent
        try:
            content = exercise.path.read_bytes()
        except FileNotFoundError:
            content = None
        except OSError as error:
            return exercise.unread_result(
                f"{exercise.file} cannot be read ({error.strerror}): make it a readable file, and try again"
            )
        return _with_errors_explained(
            exercise, lambda: self._verdict(exercise, content, folder, on_judged)
        ).with_hash_of(content)

    def check_with_pictures(self, exercise: CourseExercise) -> tuple[ExerciseResult, ExercisePictures]:
        """The verdict on the learner's file as it is now, and the pictures of what is wrong.

        Raises:
            SpecError: the exercise's own declaration is broken; names it.
        """
        return self._with_pictures(exercise, lambda on_judged: self.check(exercise, on_judged))

    def check_cells_with_pictures(
        self, exercise: CourseExercise, cells: Sequence[str], folder: Path
    ) -> tuple[ExerciseResult, ExercisePictures]:
        """The same for what a notebook's cells define."""
        return self._with_pictures(exercise, lambda on_judged: self.check_cells(exercise, cells, folder, on_judged))

    def _with_pictures(
        self, exercise: CourseExercise, check: Callable[[OnJudged], ExerciseResult]
    ) -> tuple[ExerciseResult, ExercisePictures]:
        judges: list[Judge] = []
        result = check(judges.append)
        if not judges:
            return result, no_pictures(result)
        from grader.rendering.picture_making import make_pictures

        try:
            return result, make_pictures(exercise, result, judges[-1])
        except Exception as error:  # the verdict stands without its picture
            says = f"the picture could not be drawn ({type(error).__name__}: {error}): please report it"
            return result, ExercisePictures(exercise.id, (Picture(exercise.id, note=says),))

    def check_cells(
        self, exercise: CourseExercise, cells: Sequence[str], folder: Path, on_judged: OnJudged | None = None
    ) -> ExerciseResult:
        """The verdict on what a notebook's cells define, run in this order.

        Args:
            folder: where the notebook is; its cells may import the files there.

        Raises:
            SpecError: the exercise's own declaration is broken; names it.
        """
        return _with_errors_explained(exercise, lambda: self._verdict(exercise, cells, folder, on_judged))

    def _verdict(
        self, exercise: CourseExercise, content: Content | None, folder: Path, on_judged: OnJudged | None
    ) -> ExerciseResult:
        """The answers to a quiz need neither torch nor the worker."""
        if exercise.is_quiz:
            from grader.judging.quiz_sheets import grade_quiz  # numpy is not needed before

            return grade_quiz(exercise, content)
        if content is None:
            from grader.judging.verdicts import not_handed_in  # the words are not needed before

            return not_handed_in(exercise)
        worker = self.warm_up()
        return self.grader.grade(exercise, content, worker, on_judged, importable_files(folder))

    def close(self) -> None:
        """End the worker process, and what it is at."""
        if self._worker is not None:
            if self._ahead is not None:
                self._worker.stop()
                self._ahead.close()
                self._worker.resume()
            self._worker.close()
            self._worker = None


def _with_errors_explained(exercise: CourseExercise, grade: Callable[[], ExerciseResult]) -> ExerciseResult:
    _ = exercise.declaration  # if it cannot be read, its own error names the file
    try:
        return grade()
    except SpecError as error:
        raise SpecError(f"{exercise.course.spec(exercise.unit)}: {exercise.id}: {error}") from error
    except HandgradError:
        raise
    except Exception as error:  # a bug of ours is nobody's mistake, and stops nothing else
        says = f"the grader failed on {exercise.file} ({type(error).__name__}: {error}): please report it"
        return exercise.unread_result(says)
