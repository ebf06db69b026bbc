"""A whole class, graded by several workers at once; one submission never stops the rest."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .course import Course, CourseExercise
from .errors import InfrastructureError, UsageError
from .gradebook import Gradebook, Landed, Summary
from .isolation import Isolation
from .results import CourseResult, ExerciseResult
from .sandbox import Worker, start_worker
from .submissions import Unread, printable, read_submission, student_folders

if TYPE_CHECKING:
    from .grading import Grader

TICK = 1.0
Report = Callable[["Progress"], None]


@dataclass(frozen=True)
class Progress:
    """How far a batch is.

    Args:
        rate: submissions graded per second since the first one landed; 0 until the second has.
    """

    done: int
    total: int
    rate: float


def grade_folder(
    course: Course,
    submissions: Path,
    out: Path,
    *,
    workers: int,
    seed: int | None = None,
    isolation: Isolation = "none",
    report: Report | None = None,
) -> Summary:
    """Grade every student folder of `submissions` into `out/<student>.json` and `out/grades.csv`.

    Args:
        workers: how many worker processes grade at the same time.
        seed: where every trial comes from; drawn afresh if not given.
        isolation: what learner code is kept in; see `isolation.choose`.
        report: called in this thread: first with what is reused, then whenever a result has landed.

    Raises:
        UsageError: there are no student folders, or `out` cannot be written.
        SpecError: a declaration of the course cannot be used.
        InfrastructureError: a result cannot be written any more.
        KeyboardInterrupt: passed on, once everything that is finished has been written.
    """
    started = time.monotonic()
    if workers < 1:
        raise UsageError(f"{workers} workers cannot grade anything: ask for one or more.")
    folders, strays = student_folders(course, submissions, out)
    book = Gradebook.open(course, out, isolated=isolation != "none")
    pending = [folder for folder in folders if not book.reuse(read_submission(course, folder), seed)]
    pace = _Pace(len(folders) - len(pending), len(folders), report)
    try:
        if pending:
            _grade(course, pending, _Staff(min(workers, len(pending)), seed, isolation), book, pace)
    finally:
        book.publish()
    return book.summary(len(pending), strays, time.monotonic() - started)


@dataclass(frozen=True)
class _Staff:
    """Who grades: how many workers, with which seed, in what."""

    workers: int
    seed: int | None
    isolation: Isolation


def _grade(course: Course, pending: Sequence[Path], staff: _Staff, book: Gradebook, pace: _Pace) -> None:
    """Enter each result as it lands; what is published is never much older than a second."""
    pace.tell()
    published = time.monotonic()
    with contextlib.closing(_landing(course, pending, staff)) as results:
        for landed in results:
            if landed is not None:
                book.enter(landed)
                pace.step()
            if time.monotonic() - published >= TICK:
                with contextlib.suppress(InfrastructureError):  # open in a spreadsheet, perhaps: the last one counts
                    book.publish()
                published = time.monotonic()


@dataclass
class _Pace:
    """Reports progress, and knows how fast it is."""

    done: int
    total: int
    report: Report | None
    graded: int = 0
    first: float = 0.0

    def step(self) -> None:
        """One more has landed."""
        self.graded += 1
        self.first = self.first or time.monotonic()
        self.tell()

    def tell(self) -> None:
        if self.report is not None:
            rate = (self.graded - 1) / (time.monotonic() - self.first) if self.graded > 1 else 0.0
            self.report(Progress(self.done + self.graded, self.total, rate))


class _Desk:
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

    def grade(self, grader: Grader, exercise: CourseExercise, content: bytes | Unread | None) -> ExerciseResult:
        """The verdict on one file; asked for again, of a fresh worker, where the grader itself failed."""
        if isinstance(content, Unread):
            return exercise.unread(content.why, content.status)
        result = self._try(grader, exercise, content)
        return result if result.status != "error" else self._try(grader, exercise, content)

    def _try(self, grader: Grader, exercise: CourseExercise, content: bytes | None) -> ExerciseResult:
        if self.stopped:
            return exercise.unread("the run was stopped")
        worker: Worker | None = None
        try:
            worker = self.worker = self.worker or start_worker(isolation=self.isolation)
            result = grader.grade(exercise, content, worker)
        except Exception as error:  # one submission never stops the rest
            says = f"the grader failed ({type(error).__name__}: {error}): run the same command again"
            result = exercise.unread(says)
        if result.status == "error" and worker is not None:
            self.worker = None
            worker.close()
        return result


@dataclass(frozen=True)
class _Room:
    """What the desks share: folders that wait, and results that have landed; `None` from a desk that is done."""

    course: Course
    grader: Grader
    waiting: queue.SimpleQueue[Path]
    landed: queue.SimpleQueue[Landed | Exception | None]

    def serve(self, desk: _Desk) -> None:
        """Grade until nothing is waiting."""
        try:
            while not desk.stopped:
                self.landed.put(self._graded(self.waiting.get_nowait(), desk))
        except queue.Empty:
            pass
        except Exception as error:  # raised again where the results are read
            self.landed.put(error)
        finally:
            desk.stop()
            self.landed.put(None)

    def _graded(self, folder: Path, desk: _Desk) -> Landed:
        submission = read_submission(self.course, folder)
        exercises = [
            desk.grade(self.grader, exercise, submission.files.get(exercise.id)) for exercise in self.course.exercises
        ]
        student = printable(submission.name)
        result = CourseResult(self.course.config.course, student, tuple(exercises), submission.notes)
        return Landed(submission, result, self.grader.seed)


def _landing(course: Course, pending: Sequence[Path], staff: _Staff) -> Generator[Landed | None, None, None]:
    """Each result as it is finished; `None` when a second has brought none."""
    desks = [_Desk(staff.isolation) for _ in range(staff.workers)]
    threads: list[threading.Thread] = []
    try:
        room = _Room(course, _grader(course, staff.seed), queue.SimpleQueue(), queue.SimpleQueue())
        for folder in pending:
            room.waiting.put(folder)
        for desk in desks:
            threads.append(threading.Thread(target=room.serve, args=[desk], daemon=True))
            threads[-1].start()
        yield from _until_done(room.landed, staff.workers)
    finally:
        for desk in desks:
            desk.stop()
        for thread in threads:
            thread.join()


def _until_done(landed: queue.SimpleQueue[Landed | Exception | None], workers: int) -> Iterator[Landed | None]:
    while workers:
        try:
            found = landed.get(timeout=TICK)
        except queue.Empty:
            yield None
            continue
        if isinstance(found, Exception):
            raise found
        if found is None:
            workers -= 1
        else:
            yield found


def _grader(course: Course, seed: int | None) -> Grader:
    """A grader that has its references, so that threads can share it."""
    from .grading import Grader  # imports torch: only now, beside the workers, and not if all results are reused

    grader = Grader(seed)
    for exercise in course.exercises:
        grader.trials(exercise)
    return grader
