"""Grades a whole class with several workers at once; one submission never stops the rest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course import Course, CourseExercise
from grader.errors import InfrastructureError, UsageError
from grader.judging.grading_pool import GradingPool, Part
from grader.results import CourseResult, ExerciseResult
from grader.sandbox.isolation import Isolation

from .candidates import UnreadFile
from .exercise_names import ExerciseNames
from .grades_table import Nothing, Summary
from .hand_in import HandIn
from .hand_ins import HandIns, find_hand_ins
from .printable_names import printable
from .results_folder import ResultsFolder, by_student, open_results_folder
from .submissions import Submission, read_submission

if TYPE_CHECKING:
    from grader.cluster.dask_pool import Cluster, ClusterPool

TICK = 1.0
PUBLISHING = 0.05
Report = Callable[["Progress"], None]
Graded = tuple[str, CourseResult]  # what tells a student apart, and what the hand-in came to
Ask = Callable[[Sequence[Nothing]], bool]


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


@dataclass(frozen=True)
class Grading:
    """How a class is graded.

    Args:
        workers: how many worker processes grade at the same time.
        isolation: what learner code is kept in; see `isolation.choose`.
        seed: where every trial comes from; drawn afresh if not given.
        exercises: what is graded; all of the course, if none is named.
        students: who is graded, as results name them; everybody, if nobody is named.
        cluster: whose workers grade, in place of this machine.
    """

    workers: int
    isolation: Isolation
    seed: int | None = None
    exercises: tuple[CourseExercise, ...] = ()
    students: frozenset[str] = frozenset()
    cluster: Cluster | None = None


def never(nothing: Sequence[Nothing]) -> bool:
    """Enter no points for whoever handed in nothing that could be graded."""
    return False


def grade_folder(
    course: Course, submissions: Path, out: Path, *, workers: int, isolation: Isolation, seed: int | None = None,
    report: Report | None = None, ask: Ask = never,
) -> Summary:  # fmt: skip
    """Grade a whole class into `out`; see `grade_class`.

    Raises:
        UsageError: there are no hand-ins, or `out` cannot be written.
    """
    found = find_hand_ins(course, submissions, out)
    return grade_class(course, found, out, Grading(workers, isolation, seed), report, ask)


def grade_class(
    course: Course, found: HandIns, out: Path, grading: Grading, report: Report | None = None, ask: Ask = never
) -> Summary:
    """Grade every hand-in into `out/<student>.json` and `out/grades.csv`.

    Args:
        report: called in this thread: at the start, and whenever a submission is done.
        ask: whether to enter 0 points for those who handed in nothing that could be graded; otherwise they have none.

    Raises:
        UsageError: nobody has a name that was asked for, or `out` cannot be written.
        SpecError: a declaration of the course cannot be used.
        InfrastructureError: a result cannot be written any more.
        KeyboardInterrupt: passed on, once everything that is finished has been written.
    """
    started = time.monotonic()
    if grading.workers < 1:
        raise UsageError(f"{grading.workers} workers cannot grade anything: ask for one or more.")
    chosen, others = _wanted(found, grading.students)
    names = ExerciseNames(course, grading.exercises or course.exercises)
    pace = _Pace(len(chosen), report)
    with open_results_folder(names, out, isolated=grading.isolation != "none") as results:
        for one in others:
            results.keep(one.key)
        pending = _pending(results, chosen, grading.seed, pace)
        try:
            if pending:
                _write_results(results, pending, grading, pace)
            if results.empty and ask(by_student(results.empty)):
                _enter_nothing(results, grading)
            if not others:
                results.put_away_strangers()
        finally:
            results.publish(found.absent)
        return results.summary(found, pace.graded, pace.reused, time.monotonic() - started)


def _wanted(found: HandIns, students: frozenset[str]) -> tuple[list[HandIn], list[HandIn]]:
    """The hand-ins that are graded, and the others.

    Raises:
        UsageError: nobody has one of these names.
    """
    known = {name: one for one in found.each for name in (*one.known_as, one.key, one.student)}
    if unknown := sorted(students - known.keys()):
        raise UsageError(f"Nobody is called {unknown[0]!r}: the first of them is {found.each[0].student!r}.")
    keys = {known[name].key for name in students} or {one.key for one in found.each}
    return [one for one in found.each if one.key in keys], [one for one in found.each if one.key not in keys]


def _pending(results: ResultsFolder, chosen: Sequence[HandIn], seed: int | None, pace: _Pace) -> list[HandIn]:
    """The hand-ins whose result is not there yet."""
    pending = []
    for one in chosen:
        if results.reuse(one, seed):
            pace.count_reused()
        else:
            pending.append(one)
    return pending


def _write_results(results: ResultsFolder, pending: Sequence[HandIn], grading: Grading, pace: _Pace) -> None:
    """Write each result when it is graded; the CSV is never much older than a second, nor most of the work."""
    publish_at = time.monotonic() + TICK
    with contextlib.closing(_grade(results, pending, grading, pace)) as graded:
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
        self.done = self.graded = self.reused = 0
        self.first = 0.0
        self.report(Progress(0, total))

    def count_reused(self) -> None:
        """One more was graded by an earlier run."""
        self.reused += 1
        self.count_done()

    def count_done(self) -> None:
        """One more needs nothing done."""
        self.done += 1
        self.report(Progress(self.done, self.total))

    def count_graded(self) -> None:
        """One more has been graded."""
        now = time.monotonic()
        self.done, self.graded, self.first = self.done + 1, self.graded + 1, self.first or now
        rate = (self.graded - 1) / (now - self.first) if now > self.first else 0.0
        self.report(Progress(self.done, self.total, rate))


def _grade(
    results: ResultsFolder, pending: Sequence[HandIn], grading: Grading, pace: _Pace
) -> Generator[Graded | None]:
    """Each result when it is graded; `None` when a second has brought none. All processes have ended afterwards."""
    names = results.names
    with _pool(names.course, grading, len(pending)) as pool:
        made_in = replace(grading, seed=pool.seed)
        pool.prepare(names.wanted)  # torch is imported only now, and not if all results are reused

        def handed_in() -> Iterator[tuple[Submission, list[Part]]]:
            for one in pending:
                submission = read_submission(names, one)
                if submission.nothing:
                    results.set_aside(submission)
                    pace.count_done()
                else:
                    yield submission, list(parts(names.course, submission))

        for found in pool.grade(handed_in()):
            if found is None:
                yield None
            else:
                submission, graded = found
                made_from = results.made_from(submission)
                yield submission.name, course_result(names, submission, graded, made_from, made_in)


def _pool(course: Course, grading: Grading, submissions: int) -> GradingPool | ClusterPool:
    """What grades: processes of this machine, or the workers of a cluster."""
    if grading.cluster is not None:
        return grading.cluster.pool(course, grading.isolation, grading.seed)
    return GradingPool(course, grading.isolation, min(grading.workers, submissions), grading.seed)


def parts(course: Course, submission: Submission) -> Iterator[Part]:
    """What there is to grade: the files that were read."""
    for name, content in submission.files.items():
        if not isinstance(content, UnreadFile):
            yield Part(name, content, submission.beside(course.find(name)))


def course_result(
    names: ExerciseNames, submission: Submission, graded: Sequence[ExerciseResult], made_from: str, made_in: Grading
) -> CourseResult:
    """What a submission came to: the exercises that were handed in, in teaching order.

    Args:
        made_in: with its seed.
    """
    by_id = {result.id: result for result in graded}
    handed_in = [each for each in names.wanted if each.id in submission.files]
    exercises = tuple(by_id.get(each.id) or _unread(each, submission) for each in handed_in)
    flags = (f"{each.id}: {flag}" for each in exercises for flag in each.flags)
    why = (submission.nothing,) if submission.nothing else ()
    return CourseResult(
        names.course.config.course, printable(submission.name), exercises, made_in.seed or 0, made_in.isolation,
        made_from, (*why, *submission.notes, *flags), names.points,
    )  # fmt: skip


def _enter_nothing(results: ResultsFolder, grading: Grading) -> None:
    """Give 0 points to whoever handed in nothing that could be graded."""
    while results.empty:
        submission = results.empty.pop()
        made_from = results.made_from(submission)
        results.write(submission.name, course_result(results.names, submission, (), made_from, grading))
        results.zeroed.append(submission)


def _unread(exercise: CourseExercise, submission: Submission) -> ExerciseResult:
    """What there is to say of an exercise whose file was not read."""
    content = submission.files[exercise.id]
    assert isinstance(content, UnreadFile)
    return exercise.unread_result(content.why, content.status)
