"""A session of a learner or instructor: a course, the learner's progress, a worker and a grader."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.course import Course, CourseExercise
from grader.errors import HandgradError, InfrastructureError, SpecError
from grader.judging import new_grader
from grader.rendering.picture_data import ExercisePictures, Picture, no_pictures
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import Content, Part, importable_files
from grader.sandbox.warm_process import Closing
from grader.sandbox.worker import Worker, start_worker

from .progress import Progress

if TYPE_CHECKING:
    from grader.child.protocol import Frame
    from grader.judging.grading import CombinedJob, Grader, OnJudged
    from grader.judging.judge import Judge, OnVerdicts


@dataclass(frozen=True)
class _RunningUnit:
    """The exercises of a unit whose combined job is running.

    Args:
        exercises: the exercises.
        contents: the bytes that were read of each file, by the exercise's id.
        job: the job.
        reply: the future of its reply; `None` in it if the child did not finish.
    """

    exercises: Sequence[CourseExercise]
    contents: dict[str, bytes]
    job: CombinedJob
    reply: Future[Frame | None]


class Prefetch:
    """Check exercises before their turn: those of a unit in one child, while the next unit's trials are prepared.

    Only exercises that pass or are not begun have a result here. In a shared child, any other result could be due to
    what another file has done to torch; so it must be checked alone.

    Args:
        exercises: the exercises, in the order in which their results will be requested.
        combine: returns the combined job for the answers to some exercises.
    """

    def __init__(self, exercises: Sequence[CourseExercise], combine: Callable[[Sequence[Part]], CombinedJob]) -> None:
        """Prepare the combined job of each unit with several of these exercises; no job is started yet.

        `combine` makes the combined job of the answers to some exercises.
        """
        self._combine = combine
        units = [list(unit) for _, unit in itertools.groupby(exercises, lambda exercise: exercise.unit)]
        shared = [unit for unit in units if len(unit) > 1]
        self._pending = {exercise.id for unit in shared for exercise in unit}
        self._units = self._start_in_turn(shared)
        self._results: dict[str, ExerciseResult] = {}
        self._thread = ThreadPoolExecutor(1)  # waits for the worker

    def result(self, exercise: CourseExercise) -> ExerciseResult | None:
        """Return the result of an exercise that passed or is not begun; `None` if it must be checked alone.

        Wait for the job of its unit. A result is returned once: a second call returns `None`.
        """
        while exercise.id in self._pending:
            unit = next(self._units)
            self._pending -= {exercise.id for exercise in unit.exercises}
            results = unit.job.results_of(unit.reply.result())
            self._results |= {name: result.with_hash_of(unit.contents[name]) for name, result in results.items()}
        return self._results.pop(exercise.id, None)

    def close(self) -> None:
        """Wait until the running job has ended; begin no other."""
        self._thread.shutdown(cancel_futures=True)

    def _start_in_turn(self, units: Sequence[Sequence[CourseExercise]]) -> Iterator[_RunningUnit]:
        """Start the jobs of the units one by one.

        Yield a unit once the next unit's job has been started, or at the end.
        """
        started: deque[_RunningUnit] = deque()
        for unit in units:
            started.append(self._start(unit))
            if len(started) > 1:
                yield started.popleft()
        yield from started

    def _start(self, unit: Sequence[CourseExercise]) -> _RunningUnit:
        """Submit one job for all files of a unit that can be read, and return the job with the files' contents."""
        contents = {}
        for exercise in unit:
            with suppress(OSError):
                contents[exercise.id] = exercise.path.read_bytes()
        importable = importable_files(unit[0].path.parent)
        job = self._combine([Part(name, content, importable) for name, content in contents.items()])
        return _RunningUnit(unit, contents, job, self._thread.submit(job.run))


class Session(Closing):
    """Check exercises of one course; torch is imported at the first check, at the same time as in the worker.

    Args:
        course: the course.
        worker: a worker that is starting already; if left out, one is started at the first check.
        seed: the seed of every trial; drawn at random if left out.
    """

    def __init__(self, course: Course, worker: Worker | None = None, seed: int | None = None) -> None:
        """Begin with no grader; the learner's progress is read, and torch imported, at first use.

        Args:
            course: the course.
            worker: runs the learner's code; `None` to start one at the first check.
            seed: the seed of every trial; `None` for a random one.
        """
        self.course = course
        self._seed = seed
        self._worker = worker
        self._prefetch: Prefetch | None = None

    @cached_property
    def progress(self) -> Progress:
        """Return the learner's progress, read at first use."""
        return Progress.load(self.course.root)

    @cached_property
    def grader(self) -> Grader:
        """Return the grader of this session, created at first use.

        Raises:
            InfrastructureError: torch or numpy is not installed.
        """
        try:
            return new_grader(self._seed)
        except ModuleNotFoundError as error:
            raise InfrastructureError(f"{error.name} is not installed here: run `pip install {error.name}`.") from error

    def warm_up(self) -> Worker:
        """Return the worker, started at the first call; it imports torch while this process does other things."""
        if self._worker is None:
            self._worker = start_worker("none")
        return self._worker

    def expect(self, exercises: Sequence[CourseExercise]) -> None:
        """Announce the exercises that will be checked, in this order, so that they can be prefetched.

        Quizzes are left out, and so are exercises that failed at their last check or have changed since: most likely
        these must be checked alone.
        """
        likely = [exercise for exercise in exercises if not exercise.is_quiz and self._may_need_no_search(exercise)]
        self._prefetch = Prefetch(likely, lambda parts: self.grader.together(self.course, parts, self.warm_up()))

    def _may_need_no_search(self, exercise: CourseExercise) -> bool:
        """Return whether an exercise may need no search for a mistake.

        It was never checked, or was right or not begun at its last check and has not changed since.
        """
        result = self.progress.result(exercise)
        return result.status in ("passed", "todo") if result else exercise.id not in self.progress.exercises

    def check(
        self, exercise: CourseExercise, on_judged: OnJudged | None = None, on_verdicts: OnVerdicts | None = None
    ) -> ExerciseResult:
        """Check the current file of an exercise; return the result with the hash of the file's bytes.

        Args:
            exercise: the exercise.
            on_judged: called with the judge after the check.
            on_verdicts: called with the verdicts and the hash before mistakes are searched for, which takes longer.
                Neither is called for a quiz, a prefetched result, or a file that cannot be read.

        Raises:
            SpecError: the exercise's declaration is broken; the message names it.
        """
        if not exercise.is_quiz:
            self.warm_up()
        if self._prefetch is not None and (result := self._prefetch.result(exercise)) is not None:
            return result
        try:
            content = exercise.path.read_bytes()
        except FileNotFoundError:
            content = None
        except OSError as error:
            return exercise.unread_result(
                f"{exercise.file} cannot be read ({error.strerror}): make it a readable file, and try again"
            )
        on_marked = None if on_verdicts is None else lambda result: on_verdicts(result.with_hash_of(content))
        return self._grade(exercise, content, exercise.path.parent, on_judged, on_marked).with_hash_of(content)

    def check_with_pictures(self, exercise: CourseExercise) -> tuple[ExerciseResult, ExercisePictures]:
        """Check the current file of an exercise; return the result and the pictures of its mistakes.

        Raises:
            SpecError: the exercise's declaration is broken; the message names it.
        """
        return self._with_pictures(exercise, lambda on_judged: self.check(exercise, on_judged))

    def check_cells_with_pictures(
        self, exercise: CourseExercise, cells: Sequence[str], folder: Path
    ) -> tuple[ExerciseResult, ExercisePictures]:
        """Check the cells of a notebook; return the result and the pictures of its mistakes.

        Args:
            exercise: the exercise.
            cells: the texts of the cells, which are run in this order.
            folder: the folder of the notebook; its cells may import the files there.

        Raises:
            SpecError: the exercise's declaration is broken; the message names it.
        """
        return self._with_pictures(exercise, lambda on_judged: self.check_cells(exercise, cells, folder, on_judged))

    def _with_pictures(
        self, exercise: CourseExercise, check: Callable[[OnJudged], ExerciseResult]
    ) -> tuple[ExerciseResult, ExercisePictures]:
        """Check an exercise; return the result, and the pictures of its mistakes or a note on why they cannot be drawn.

        If the check calls its argument several times, the last judge counts; if never, there are no arrays to draw.

        Args:
            exercise: the exercise.
            check: checks the exercise, and calls its argument with the judge.
        """
        judges: list[Judge] = []
        result = check(judges.append)
        if not judges:
            return result, no_pictures(result)
        from grader.rendering.picture_making import make_pictures

        try:
            return result, make_pictures(exercise, result, judges[-1])
        except Exception as error:  # the verdict stands without its picture
            message = f"the picture could not be drawn ({type(error).__name__}: {error}): please report it"
            return result, ExercisePictures(exercise.id, (Picture(exercise.id, note=message),))

    def check_cells(
        self, exercise: CourseExercise, cells: Sequence[str], folder: Path, on_judged: OnJudged | None = None
    ) -> ExerciseResult:
        """Return the result of the cells of a notebook.

        Args:
            exercise: the exercise.
            cells: the texts of the cells, which are run in this order.
            folder: the folder of the notebook; its cells may import the files there.
            on_judged: called with the judge after the check.

        Raises:
            SpecError: the exercise's declaration is broken; the message names it.
        """
        return self._grade(exercise, cells, folder, on_judged)

    def _grade(
        self, exercise: CourseExercise, content: Content | None, folder: Path, on_judged: OnJudged | None,
        on_verdicts: OnVerdicts | None = None,
    ) -> ExerciseResult:  # fmt: skip
        """Return the result of a file or the cells of a notebook; if the grader itself fails, a result that says so.

        A quiz is judged without torch and the worker.

        Args:
            exercise: the exercise.
            content: the bytes of the file, or the texts of the cells; `None` if there is no file.
            folder: the folder whose files the learner's code may import.
            on_judged: called with the judge after the check, unless it is `None`; not for a quiz.
            on_verdicts: called with the verdicts before mistakes are looked for, unless it is `None`; not for a quiz.

        Raises:
            SpecError: the declaration is broken; the message names its file and the exercise.
            HandgradError: the check cannot be made, as where no worker can be started.
        """
        _ = exercise.declaration  # if it cannot be read, its own error names the file
        try:
            if exercise.is_quiz:
                from grader.judging.quiz_sheets import grade_quiz  # imports numpy

                return grade_quiz(exercise, content)
            beside = importable_files(folder)
            return self.grader.grade(exercise, content, self.warm_up(), on_judged, beside, on_verdicts)
        except SpecError as error:
            raise SpecError(f"{exercise.course.spec(exercise.unit)}: {exercise.id}: {error}") from error
        except HandgradError:
            raise
        except Exception as error:  # a bug of the grader stops no other check
            message = f"the grader failed on {exercise.file} ({type(error).__name__}: {error}): please report it"
            return exercise.unread_result(message)

    def close(self) -> None:
        """End the worker and the job that it runs."""
        if self._worker is not None:
            if self._prefetch is not None:
                self._worker.stop()
                self._prefetch.close()
                self._worker.resume()
            self._worker.close()
            self._worker = None
