"""Grades a whole class with several workers at once; one submission never stops the rest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course import Course, CourseExercise
from grader.errors import NoGradedRuns, UsageError, describe_error
from grader.judging.grading_pool import Graded, GradingPool, ReadingPool
from grader.results import CourseResult, ExerciseResult
from grader.sandbox.isolation import Isolation

from .exercise_names import ExerciseNames
from .grades_table import Nothing, Summary
from .hand_in import HandIn
from .hand_ins import HandIns, find_hand_ins
from .results_folder import ResultsFolder, ResultsFolderLost, by_student, open_results_folder
from .submissions import SubmissionFacts, SubmissionReader

if TYPE_CHECKING:
    from grader.cluster.dask_pool import Cluster

TICK = 1.0
LONGEST = 200  # characters of a reason
PUBLISHING = 0.05
Report = Callable[["Progress"], None]
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
        NoGradedRuns: learner code cannot be run here.
        InfrastructureError: no result can be written any more, or there can be no grading process.
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
        try:
            pending = _pending(results, chosen, grading, pace)
            if pending:
                _write_results(results, pending, grading, pace)
            if results.empty and ask(by_student(results.empty)):
                _enter_nothing(results, grading)
            if not others:
                results.put_away_strangers()
        except NoGradedRuns:  # nothing was read: what there is of an earlier run stays as it is
            with contextlib.suppress(OSError):
                out.rmdir()
            raise
        except BaseException:
            results.publish(found.absent)
            raise
        results.publish(found.absent)
        return results.summary(found, pace.graded, pace.reused, time.monotonic() - started)


def _wanted(found: HandIns, students: frozenset[str]) -> tuple[list[HandIn], list[HandIn]]:
    """The hand-ins that are graded, and the others.

    Raises:
        UsageError: nobody has one of these names.
    """
    if not students:
        return list(found.each), []
    known = {name: one for one in found.each for name in (*one.known_as, one.key, one.student)}
    if unknown := sorted(students - known.keys()):
        raise UsageError(f"Nobody is called {unknown[0]!r}: the first of them is {found.each[0].student!r}.")
    keys = {known[name].key for name in students}
    return [one for one in found.each if one.key in keys], [one for one in found.each if one.key not in keys]


def _pending(results: ResultsFolder, chosen: Sequence[HandIn], grading: Grading, pace: _Pace) -> list[HandIn]:
    """The hand-ins whose result is not there yet."""
    stored = list[HandIn]()
    for one in chosen:
        with contextlib.suppress(Exception):  # a result that cannot be read is made again
            stored += [one] if results.has_result(one, grading.seed) else []
    if not stored:
        return list(chosen)
    reused = set[str]()
    with ReadingPool(results.names.course, min(grading.workers, len(stored)), _reader(results)) as pool:
        for read in pool.read(zip(stored, stored, strict=True)):
            with contextlib.suppress(Exception):
                if read is not None and read.facts and results.reuse(read.key, SubmissionFacts.from_json(read.facts)):
                    reused.add(read.key.key)
                    pace.count_reused()
    return [one for one in chosen if one.key not in reused]


def _reader(results: ResultsFolder, *, keeps_parts: bool = False) -> SubmissionReader:
    wanted = tuple(exercise.id for exercise in results.names.wanted)
    return SubmissionReader(wanted, results.digest, keeps_parts)


def _write_results(results: ResultsFolder, pending: Sequence[HandIn], grading: Grading, pace: _Pace) -> None:
    """Write each result when it is graded; the CSV is never much older than a second, nor most of the work."""
    publish_at = time.monotonic() + TICK
    with contextlib.closing(_grade(results, pending, grading)) as graded:
        for each in graded:
            if each is not None:
                try:
                    is_graded = _enter(results, *each)
                except ResultsFolderLost:  # nobody's result can be written any more
                    raise
                except Exception as error:  # the end of this one alone
                    is_graded = True
                    _enter_failure(results, *each, error)
                with contextlib.suppress(Exception):  # how far it is
                    (pace.count_graded if is_graded else pace.count_done)()
            if (now := time.monotonic()) >= publish_at:
                with contextlib.suppress(Exception):  # open in a spreadsheet, perhaps: the last one counts
                    results.publish()
                took = time.monotonic() - now
                publish_at = now + max(TICK, took / PUBLISHING)


def _enter(results: ResultsFolder, graded: Graded, made_in: Grading) -> bool:
    """Write what became of one submission; `False` where there is nothing to grade.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    hand_in: HandIn = graded.key
    facts = None if graded.facts is None else SubmissionFacts.from_json(graded.facts)
    if facts is not None and facts.nothing:
        results.set_aside(hand_in, facts)
        return False
    results.write(hand_in.key, course_result(results.names, hand_in, graded, facts, made_in))
    return True


def _enter_failure(results: ResultsFolder, graded: Graded, made_in: Grading, error: Exception) -> None:
    """Write a record that says why there is no other; where that fails too, the table alone says so.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    hand_in: HandIn = graded.key
    why = f"the record could not be made ({describe_error(error)[:LONGEST]})"
    try:
        failed = Graded(hand_in, [], failure=why)
        results.write(hand_in.key, course_result(results.names, hand_in, failed, None, made_in))
    except ResultsFolderLost:
        raise
    except Exception:
        results.leave_out(hand_in, why)


class _Pace:
    """Counts and reports, and knows how fast it is."""

    def __init__(self, total: int, report: Report | None) -> None:
        self.total, self.report = total, report or (lambda progress: None)
        self.done = self.graded = self.reused = 0
        self.first = 0.0
        with contextlib.suppress(Exception):  # a line on a screen that cannot be drawn costs nobody a record
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
    results: ResultsFolder, pending: Sequence[HandIn], grading: Grading
) -> Generator[tuple[Graded, Grading] | None]:
    """What each submission came to when it is graded, under its hand-in, and how it was graded; `None` when a second
    has brought none. All processes have ended afterwards.
    """
    names = results.names
    with contextlib.ExitStack() as stack:
        if grading.cluster is not None:
            reading = ReadingPool(names.course, 1, _reader(results, keeps_parts=True))
            stack.callback(reading.close)
            cluster = grading.cluster.pool(names.course, grading.isolation, grading.seed)
            stack.callback(cluster.close)
            cluster.prepare(names.wanted)
            made_in = replace(grading, seed=cluster.seed)
            graded: Iterable[Graded | None] = cluster.grade_read(reading.read(zip(pending, pending, strict=True)))
        else:
            processes = min(grading.workers, len(pending))
            pool = GradingPool(names.course, grading.isolation, processes, grading.seed, _reader(results))
            stack.callback(pool.close)
            pool.prepare(names.wanted)  # torch is imported only now, and not if all results are reused
            pool.probe()
            made_in = replace(grading, seed=pool.seed)
            graded = pool.grade(zip(pending, pending, strict=True))
        for each in graded:
            yield None if each is None else (each, made_in)


def course_result(
    names: ExerciseNames, hand_in: HandIn, graded: Graded, facts: SubmissionFacts | None, made_in: Grading
) -> CourseResult:
    """What a submission came to: the exercises that were handed in, in teaching order.

    Args:
        facts: what was read of it; `None` where it could not be read: then nobody knows what was handed in.
        made_in: with its seed.
    """
    by_id = {result.id: result for result in graded.results}
    handed_in = [each for each in names.wanted if facts is None or each.id in facts.exercises]
    exercises = tuple(by_id.get(each.id) or _unread(each, facts, graded.failure) for each in handed_in)
    flags = tuple(f"{each.id}: {flag}" for each in exercises for flag in each.flags)
    notes = (*([facts.nothing] if facts.nothing else ()), *facts.notes) if facts is not None else hand_in.notes
    return CourseResult(
        names.course.config.course, hand_in.student, exercises, made_in.seed or 0, made_in.isolation,
        None if facts is None else facts.made_from, (*notes, *flags), names.points,
    )  # fmt: skip


def _enter_nothing(results: ResultsFolder, grading: Grading) -> None:
    """Give 0 points to whoever handed in nothing that could be graded."""
    while results.empty:
        hand_in, facts = results.empty.pop()
        graded = Graded(hand_in, [])
        try:
            results.write(hand_in.key, course_result(results.names, hand_in, graded, facts, grading))
        except ResultsFolderLost:
            raise
        except Exception as error:
            results.leave_out(hand_in, f"the record could not be made ({describe_error(error)[:LONGEST]})")
        else:
            results.zeroed.append((hand_in, facts))


def _unread(exercise: CourseExercise, facts: SubmissionFacts | None, failure: str) -> ExerciseResult:
    """What there is to say of an exercise that was not judged."""
    if facts is not None and exercise.id in facts.unread:
        content = facts.unread[exercise.id]
        return exercise.unread_result(content.why, content.status)
    return exercise.unread_result(failure)
