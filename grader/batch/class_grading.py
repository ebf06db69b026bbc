"""Grades a whole class with several workers at once; one submission never stops the rest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course import Course, CourseExercise
from grader.errors import InfrastructureError, UsageError
from grader.judging.grading_pool import GradingPool, Part
from grader.results import CourseResult, ExerciseResult
from grader.sandbox.isolation import Isolation

from .results_folder import ResultsFolder, Summary, open_results_folder
from .submissions import Submission, UnreadFile, printable, read_submission, student_folders

TICK = 1.0
PUBLISHING = 0.05
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
    with contextlib.closing(_grade(results, pending, settings)) as graded:
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


def _grade(results: ResultsFolder, pending: Sequence[Path], settings: _Settings) -> Generator[Graded | None]:
    """Each result when it is graded; `None` when a second has brought none. All processes have ended afterwards."""
    course = results.course
    with GradingPool(course, settings.isolation, settings.workers, settings.seed) as pool:
        pool.prepare(course.exercises)  # torch is imported only now, and not if all results are reused

        def handed_in() -> Iterator[tuple[Submission, list[Part]]]:
            for folder in pending:
                submission = read_submission(course, folder)
                yield submission, list(_parts(course, submission))

        for found in pool.grade(handed_in()):
            yield None if found is None else _result(results, pool, *found)


def _parts(course: Course, submission: Submission) -> Iterator[Part]:
    """What there is to grade: the files that were read."""
    for name, content in submission.files.items():
        if isinstance(content, bytes):
            yield Part(name, content, submission.beside(course.find(name)))


def _result(
    results: ResultsFolder, pool: GradingPool, submission: Submission, graded: Sequence[ExerciseResult]
) -> Graded:
    course, by_id = results.course, {result.id: result for result in graded}
    exercises = tuple(by_id.get(each.id) or _ungraded(each, pool, submission) for each in course.exercises)
    flags = (f"{each.id}: {flag}" for each in exercises for flag in each.flags)
    return submission.name, CourseResult(
        course.config.course,
        printable(submission.name),
        exercises,
        pool.grader.seed,
        pool.isolation,
        results.made_from(submission),
        (*submission.notes, *flags),
    )


def _ungraded(exercise: CourseExercise, pool: GradingPool, submission: Submission) -> ExerciseResult:
    """What there is to say of an exercise whose file is not there, or was not read."""
    content = submission.files.get(exercise.id)
    if isinstance(content, UnreadFile):
        return exercise.unread_result(content.why, content.status)
    return pool.grader.not_handed_in(exercise)
