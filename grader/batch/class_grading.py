"""Grades a whole class with several workers at once; one submission never stops the rest."""

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
from grader.judging.worker_pool import WorkerPool
from grader.results import CourseResult, ExerciseResult
from grader.sandbox.isolation import Isolation

from .results_folder import ResultsFolder, Summary, open_results_folder
from .submissions import Submission, UnreadFile, printable, read_submission, student_folders

if TYPE_CHECKING:
    from grader.judging.grading import Grader

TICK = 1.0
PUBLISHING = 0.05
AHEAD = 3
Report = Callable[["Progress"], None]
Graded = tuple[str, CourseResult]  # the name of a student's folder, and what it came to


@dataclass(frozen=True)
class Progress:
    """How far a batch is.

    Args:
        done: submissions whose result is there, those of an earlier run included.
        rate: submissions graded per second since the first one was graded; 0 until the second has.
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
    with open_results_folder(course, out, isolated=isolation != "none") as results:
        pending = _pending(results, folders, seed, pace)
        try:
            if pending:
                _write_results(results, pending, _Settings(min(workers, len(pending)), seed, isolation), pace)
        finally:
            results.publish()
        return results.summary(pace.graded, strays, time.monotonic() - started)


def _pending(results: ResultsFolder, folders: Sequence[Path], seed: int | None, pace: _Pace) -> list[Path]:
    """The folders whose result is not there yet."""
    pending = []
    for folder in folders:
        if results.reuse(folder, seed):
            pace.count_reused()
        else:
            pending.append(folder)
    return pending


@dataclass(frozen=True)
class _Settings:
    """How the class is graded: with how many workers, which seed, and which isolation."""

    workers: int
    seed: int | None
    isolation: Isolation


def _write_results(results: ResultsFolder, pending: Sequence[Path], settings: _Settings, pace: _Pace) -> None:
    """Write each result when it is graded; the CSV is never much older than a second, nor most of the work."""
    publish_at = time.monotonic() + TICK
    with contextlib.closing(_grade_in_threads(results, pending, settings)) as graded:
        for each in graded:
            if each is not None:
                results.write(*each)
                pace.count_graded()
            if (now := time.monotonic()) >= publish_at:
                with contextlib.suppress(InfrastructureError):  # open in a spreadsheet, perhaps: the last one counts
                    results.publish()
                took = time.monotonic() - now
                publish_at = now + max(TICK, took / PUBLISHING)


class _Pace:
    """Counts and reports, and knows how fast it is."""

    def __init__(self, total: int, report: Report | None) -> None:
        self.total, self.report = total, report or (lambda progress: None)
        self.done = self.graded = 0
        self.first = 0.0
        self.report(Progress(0, total))

    def count_reused(self) -> None:
        """One more was graded by an earlier run."""
        self.done += 1
        self.report(Progress(self.done, self.total))

    def count_graded(self) -> None:
        """One more has been graded."""
        now = time.monotonic()
        self.done, self.graded, self.first = self.done + 1, self.graded + 1, self.first or now
        rate = (self.graded - 1) / (now - self.first) if now > self.first else 0.0
        self.report(Progress(self.done, self.total, rate))


@dataclass(frozen=True)
class _SharedWork:
    """What the threads share: folders that wait (`None` ends a thread), and the results of those that are graded."""

    results: ResultsFolder
    grader: Grader
    pool: WorkerPool
    waiting: queue.SimpleQueue[Path | None]
    graded: queue.SimpleQueue[Graded | BaseException]

    def grade_waiting(self) -> None:
        """Grade waiting folders until there are no more."""
        try:
            while not self.pool.closed and (folder := self.waiting.get()) is not None:
                self.graded.put(self._grade_folder(folder))
        except BaseException as error:  # raised again where the results are read: nobody may wait for it in vain
            self.graded.put(error)

    def graded_folders(self, pending: Sequence[Path], ahead: int) -> Iterator[Graded | None]:
        """Each result when it is graded; `None` when a second has brought none.

        Args:
            ahead: how many folders may be under way: results that nobody has read yet are held in memory.
        """
        folders = iter(pending)
        for folder in islice(folders, ahead):
            self.waiting.put(folder)
        unread = len(pending)
        while unread:
            try:
                found = self.graded.get(timeout=TICK)
            except queue.Empty:
                yield None
                continue
            if isinstance(found, BaseException):
                raise found
            unread -= 1
            self.waiting.put(next(folders, None))
            yield found

    def _grade_folder(self, folder: Path) -> Graded:
        course = self.results.course
        submission = read_submission(course, folder)
        exercises = [self._grade_exercise(exercise, submission) for exercise in course.exercises]
        return folder.name, CourseResult(
            course.config.course,
            printable(folder.name),
            tuple(exercises),
            self.grader.seed,
            self.pool.isolation,
            self.results.made_from(submission),
            submission.notes,
        )

    def _grade_exercise(self, exercise: CourseExercise, submission: Submission) -> ExerciseResult:
        content = submission.files.get(exercise.id)
        if content is None:
            return self.grader.not_handed_in(exercise)
        if isinstance(content, UnreadFile):
            return exercise.unread_result(content.why, content.status)
        beside = submission.beside(exercise)
        return self.pool.grade(exercise, lambda worker: self.grader.grade(exercise, content, worker, beside=beside))


def _grade_in_threads(
    results: ResultsFolder, pending: Sequence[Path], settings: _Settings
) -> Generator[Graded | None, None, None]:
    """The results of all threads; threads and workers have ended afterwards, whatever happens."""
    waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
    threads: list[threading.Thread] = []
    with WorkerPool(settings.isolation, settings.workers) as pool:
        try:
            work = _SharedWork(results, _grader(results.course, settings), pool, waiting, queue.SimpleQueue())
            for _ in range(pool.threads):
                threads.append(threading.Thread(target=work.grade_waiting, daemon=True))
                threads[-1].start()
            yield from work.graded_folders(pending, AHEAD * settings.workers)
        finally:
            pool.close()
            for _ in threads:
                waiting.put(None)
            for thread in threads:
                thread.join()


def _grader(course: Course, settings: _Settings) -> Grader:
    """A grader that has its references, so that threads can share it."""
    # torch is imported only now, beside the workers, and not if all results are reused
    grader = new_grader(settings.seed)
    for exercise in course.exercises:
        grader.prepare(exercise, isolated=settings.isolation != "none")
    return grader
