"""A whole class, graded by several workers at once; one submission never stops the rest."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course import Course, CourseExercise
from grader.errors import InfrastructureError, UsageError
from grader.judging.lazy_grader import new_grader
from grader.judging.worker_pool import Crew
from grader.results import CourseResult, ExerciseResult
from grader.sandbox.isolation import Isolation

from .results_folder import Gradebook, Summary, opened
from .submissions import Unread, printable, read_submission, student_folders

if TYPE_CHECKING:
    from grader.judging.grading import Grader

TICK = 1.0
PUBLISHING = 0.05
AHEAD = 3
Report = Callable[["Progress"], None]
Landed = tuple[str, CourseResult]  # the name of a student's folder, and what it came to


@dataclass(frozen=True)
class Progress:
    """How far a batch is.

    Args:
        done: submissions whose result is there, those of an earlier run included.
        rate: submissions graded per second since the first one landed; 0 until the second has.
    """

    done: int
    total: int
    rate: float = 0.0


def grade_folder(
    course: Course,
    submissions: Path,
    out: Path,
    *,
    workers: int,
    isolation: Isolation,
    seed: int | None = None,
    report: Report | None = None,
) -> Summary:
    """Grade every student folder of `submissions` into `out/<student>.json` and `out/grades.csv`.

    Args:
        workers: how many worker processes grade at the same time.
        isolation: what learner code is kept in; see `isolation.choose`.
        seed: where every trial comes from; drawn afresh if not given.
        report: called in this thread: at the start, and whenever a submission is done.

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
    pace = _Pace(len(folders), report)
    with opened(course, out, isolated=isolation != "none") as book:
        pending = _pending(book, folders, seed, pace)
        try:
            if pending:
                _grade(book, pending, _Staff(min(workers, len(pending)), seed, isolation), pace)
        finally:
            book.publish()
        return book.summary(pace.graded, strays, time.monotonic() - started)


def _pending(book: Gradebook, folders: Sequence[Path], seed: int | None, pace: _Pace) -> list[Path]:
    """The folders whose result is not there yet."""
    pending = []
    for folder in folders:
        if book.reuse(folder, seed):
            pace.kept()
        else:
            pending.append(folder)
    return pending


@dataclass(frozen=True)
class _Staff:
    """Who grades: how many workers, with which seed, in what."""

    workers: int
    seed: int | None
    isolation: Isolation


def _grade(book: Gradebook, pending: Sequence[Path], staff: _Staff, pace: _Pace) -> None:
    """Enter each result as it lands; the CSV is never much older than a second, nor most of the work."""
    publish_at = time.monotonic() + TICK
    with contextlib.closing(_landing(book, pending, staff)) as results:
        for landed in results:
            if landed is not None:
                book.enter(*landed)
                pace.landed()
            if (now := time.monotonic()) >= publish_at:
                with contextlib.suppress(InfrastructureError):  # open in a spreadsheet, perhaps: the last one counts
                    book.publish()
                took = time.monotonic() - now
                publish_at = now + max(TICK, took / PUBLISHING)


class _Pace:
    """Counts and reports, and knows how fast it is."""

    def __init__(self, total: int, report: Report | None) -> None:
        self.total, self.report = total, report or (lambda progress: None)
        self.done = self.graded = 0
        self.first = 0.0
        self.report(Progress(0, total))

    def kept(self) -> None:
        """One more was graded by an earlier run."""
        self.done += 1
        self.report(Progress(self.done, self.total))

    def landed(self) -> None:
        """One more has been graded."""
        now = time.monotonic()
        self.done, self.graded, self.first = self.done + 1, self.graded + 1, self.first or now
        rate = (self.graded - 1) / (now - self.first) if now > self.first else 0.0
        self.report(Progress(self.done, self.total, rate))


@dataclass(frozen=True)
class _Room:
    """What the threads share: folders that wait (`None` sends a thread home), and what has come of them."""

    book: Gradebook
    grader: Grader
    crew: Crew
    waiting: queue.SimpleQueue[Path | None]
    landed: queue.SimpleQueue[Landed | BaseException]

    def serve(self) -> None:
        """Grade what is waiting."""
        try:
            while not self.crew.closed and (folder := self.waiting.get()) is not None:
                self.landed.put(self._graded(folder))
        except BaseException as error:  # raised again where the results are read: nobody may wait for it in vain
            self.landed.put(error)

    def results(self, pending: Sequence[Path], ahead: int) -> Iterator[Landed | None]:
        """Each result as it lands; `None` when a second has brought none.

        Args:
            ahead: how many folders may be under way: results that nobody has read yet are held in memory.
        """
        folders = iter(pending)
        for folder in islice(folders, ahead):
            self.waiting.put(folder)
        unread = len(pending)
        while unread:
            try:
                found = self.landed.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            if isinstance(found, BaseException):
                raise found
            unread -= 1
            self.waiting.put(next(folders, None))
            yield found

    def _graded(self, folder: Path) -> Landed:
        course = self.book.course
        submission = read_submission(course, folder)
        exercises = [self._verdict(exercise, submission.files.get(exercise.id)) for exercise in course.exercises]
        return folder.name, CourseResult(
            course.config.course,
            printable(folder.name),
            tuple(exercises),
            self.grader.seed,
            self.crew.isolation,
            self.book.made_from(submission),
            submission.notes,
        )

    def _verdict(self, exercise: CourseExercise, content: bytes | Unread | None) -> ExerciseResult:
        if content is None:
            return self.grader.not_handed_in(exercise)
        if isinstance(content, Unread):
            return exercise.unread(content.why, content.status)
        return self.crew.grade(exercise, lambda worker: self.grader.grade(exercise, content, worker))


def _landing(book: Gradebook, pending: Sequence[Path], staff: _Staff) -> Generator[Landed | None, None, None]:
    """The results of all threads; they and their crew are gone afterwards, whatever happens."""
    waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
    threads: list[threading.Thread] = []
    with Crew(staff.isolation, staff.workers) as crew:
        try:
            room = _Room(book, _grader(book.course, staff), crew, waiting, queue.SimpleQueue())
            for _ in range(crew.threads):
                threads.append(threading.Thread(target=room.serve, daemon=True))
                threads[-1].start()
            yield from room.results(pending, AHEAD * staff.workers)
        finally:
            crew.close()
            for _ in threads:
                waiting.put(None)
            for thread in threads:
                thread.join()


def _grader(course: Course, staff: _Staff) -> Grader:
    """A grader that has its references, so that threads can share it."""
    grader = new_grader(staff.seed)  # torch is imported only now, beside the workers, and not if all results are reused
    for exercise in course.exercises:
        grader.prepare(exercise, isolated=staff.isolation != "none")
    return grader
