"""Grades a whole class with several workers at once; one submission never stops the rest."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.course import Course, CourseExercise
from grader.errors import InfrastructureError, NoGradedRuns, UsageError, describe_error
from grader.files import write_atomically
from grader.judging.grading_pool import Graded, GradingPool, Read, ReadingPool
from grader.results.records import CourseResult, ExerciseResult, dumps, exit_code
from grader.safe_text import one_line, plain
from grader.sandbox.isolation import Isolation

from .class_folder import HandIn, HandIns, find_hand_ins, one_hand_in
from .exercise_names import ExerciseNames
from .grades_table import Nothing, Summary
from .results_folder import ResultsFolder, ResultsFolderLost, by_student, course_digest, open_results_folder
from .submissions import SubmissionFacts, SubmissionReader

if TYPE_CHECKING:
    from .dask_pool import Cluster

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
    """Answer no to the question whether students who handed in nothing gradable get 0 points."""
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
    """Grade every hand-in into `out/<student>.json` and `out/grades.csv`, and return the counts of the class.

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
    chosen, others = _select_students(found, grading.students)
    names = ExerciseNames(course, grading.exercises or course.exercises)
    pace = _ProgressCounter(len(chosen), report)
    with open_results_folder(names, out, isolated=grading.isolation != "none") as results:
        for hand_in in others:
            results.keep(hand_in.key)
        try:
            pending = _pending(results, chosen, grading, pace)
            if pending:
                _write_results(results, pending, grading, pace)
            if results.empty and ask(by_student(results.empty)):
                _write_zeros(results, grading)
            if not others:
                results.remove_absent_students()
        except NoGradedRuns:  # nothing was read: what there is of an earlier run stays as it is
            with contextlib.suppress(OSError):
                out.rmdir()
            raise
        except BaseException:
            results.publish(found.absent)
            raise
        results.publish(found.absent)
        return results.summary(found, pace.graded, pace.reused, time.monotonic() - started)


def _select_students(found: HandIns, students: frozenset[str]) -> tuple[list[HandIn], list[HandIn]]:
    """Return the hand-ins of the students who are graded, and the others.

    Args:
        students: the names, keys or other names of those to grade; everybody if empty.

    Raises:
        UsageError: nobody has one of these names.
    """
    if not students:
        return list(found.each), []
    known = {name: hand_in for hand_in in found.each for name in (*hand_in.known_as, hand_in.key, hand_in.student)}
    if unknown := sorted(students - known.keys()):
        raise UsageError(f"Nobody is called {unknown[0]!r}: the first of them is {found.each[0].student!r}.")
    keys = {known[name].key for name in students}
    return [hand_in for hand_in in found.each if hand_in.key in keys], [
        hand_in for hand_in in found.each if hand_in.key not in keys
    ]


def _pending(
    results: ResultsFolder, chosen: Sequence[HandIn], grading: Grading, pace: _ProgressCounter
) -> list[HandIn]:
    """Return the hand-ins that must be graded; count the others, whose stored result is from the same content."""
    stored = list[HandIn]()
    for hand_in in chosen:
        with contextlib.suppress(Exception):  # a result that cannot be read is made again
            stored += [hand_in] if results.has_result(hand_in, grading.seed) else []
    if not stored:
        return list(chosen)
    reused = set[str]()
    with ReadingPool(results.names.course, min(grading.workers, len(stored)), _reader(results)) as pool:
        for read in pool.read(zip(stored, stored, strict=True)):
            with contextlib.suppress(Exception):
                if read is not None and read.facts and results.reuse(read.key, SubmissionFacts.from_json(read.facts)):
                    reused.add(read.key.key)
                    pace.count_reused()
    return [hand_in for hand_in in chosen if hand_in.key not in reused]


def _reader(results: ResultsFolder, *, keeps_parts: bool = False) -> SubmissionReader:
    """Return what reads the submissions of this class."""
    wanted = tuple(exercise.id for exercise in results.names.wanted)
    return SubmissionReader(wanted, results.digest, keeps_parts)


def _write_results(results: ResultsFolder, pending: Sequence[HandIn], grading: Grading, pace: _ProgressCounter) -> None:
    """Grade the hand-ins and write each result when it is there; update the CSV about once a second."""
    publish_at = time.monotonic() + TICK
    with contextlib.closing(_grade_pending(results, pending, grading)) as graded:
        for outcome in graded:
            if outcome is not None:
                try:
                    is_graded = _write_outcome(results, *outcome)
                except ResultsFolderLost:  # nobody's result can be written any more
                    raise
                except Exception as error:  # the end of this one alone
                    is_graded = True
                    _write_failure(results, *outcome, error)
                with contextlib.suppress(Exception):  # how far it is
                    (pace.count_graded if is_graded else pace.count_done)()
            if (now := time.monotonic()) >= publish_at:
                with contextlib.suppress(Exception):  # open in a spreadsheet, perhaps: the last one counts
                    results.publish()
                seconds = time.monotonic() - now
                publish_at = now + max(TICK, seconds / PUBLISHING)


def _write_outcome(results: ResultsFolder, graded: Graded, made_in: Grading) -> bool:
    """Write the result of one submission.

    Returns:
        Whether it was graded; false if it contains nothing to grade.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    hand_in: HandIn = graded.key
    facts = None if graded.facts is None else SubmissionFacts.from_json(graded.facts)
    if facts is not None and facts.nothing:
        results.record_empty(hand_in, facts)
        return False
    results.write(hand_in.key, course_result(results.names, hand_in, graded, facts, made_in))
    return True


def _write_failure(results: ResultsFolder, graded: Graded, made_in: Grading, error: Exception) -> None:
    """Write a record that says why the submission has no other; if that fails too, only a line in the table.

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
        results.add_failure(hand_in, why)


class _ProgressCounter:
    """Count the submissions that are done, and report the count and the rate."""

    def __init__(self, total: int, report: Report | None) -> None:
        self.total, self.report = total, report or (lambda progress: None)
        self.done = self.graded = self.reused = 0
        self.first = 0.0
        with contextlib.suppress(Exception):  # a line on a screen that cannot be drawn costs nobody a record
            self.report(Progress(0, total))

    def count_reused(self) -> None:
        """Count a submission whose stored result is reused."""
        self.reused += 1
        self.count_done()

    def count_done(self) -> None:
        """Count a submission that contains nothing to grade, or has its result already."""
        self.done += 1
        self.report(Progress(self.done, self.total))

    def count_graded(self) -> None:
        """Count a submission that was graded now."""
        now = time.monotonic()
        self.done, self.graded, self.first = self.done + 1, self.graded + 1, self.first or now
        rate = (self.graded - 1) / (now - self.first) if now > self.first else 0.0
        self.report(Progress(self.done, self.total, rate))


def _grade_pending(
    results: ResultsFolder, pending: Sequence[HandIn], grading: Grading
) -> Generator[tuple[Graded, Grading] | None]:
    """Grade these hand-ins, here or on a cluster; all processes have ended when the generator is closed.

    Returns:
        The outcome of each submission, when it is there, and how it was graded, with the seed; `None` now and then if
        no outcome is there.
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
            graded: Iterable[Graded | None] = cluster.grade_readings(reading.read(zip(pending, pending, strict=True)))
        else:
            processes = min(grading.workers, len(pending))
            pool = GradingPool(names.course, grading.isolation, processes, grading.seed, _reader(results))
            stack.callback(pool.close)
            pool.prepare(names.wanted)  # torch is imported only now, and not if all results are reused
            pool.probe()
            made_in = replace(grading, seed=pool.seed)
            graded = pool.grade(zip(pending, pending, strict=True))
        for outcome in graded:
            yield None if outcome is None else (outcome, made_in)


def course_result(
    names: ExerciseNames, hand_in: HandIn, graded: Graded, facts: SubmissionFacts | None, made_in: Grading
) -> CourseResult:
    """Return the result of a submission: the exercises that were handed in, in teaching order.

    Args:
        facts: the facts of the submission; `None` if it could not be read, so that every exercise counts as handed in.
        made_in: how it was graded, with the seed.
    """
    by_id = {result.id: result for result in graded.results}
    exercises_handed_in = [exercise for exercise in names.wanted if facts is None or exercise.id in facts.exercises]
    exercises = tuple(
        by_id.get(exercise.id) or _ungraded_result(exercise, facts, graded.failure) for exercise in exercises_handed_in
    )
    flags = tuple(f"{exercise.id}: {flag}" for exercise in exercises for flag in exercise.flags)
    notes = (*([facts.nothing] if facts.nothing else ()), *facts.notes) if facts is not None else hand_in.notes
    return CourseResult(
        names.course.config.course, hand_in.student, exercises, made_in.seed or 0, made_in.isolation,
        None if facts is None else facts.made_from, (*notes, *flags), names.points,
    )  # fmt: skip


def _write_zeros(results: ResultsFolder, grading: Grading) -> None:
    """Give 0 points to every student whose hand-in contains nothing to grade.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    while results.empty:
        hand_in, facts = results.empty.pop()
        graded = Graded(hand_in, [])
        try:
            results.write(hand_in.key, course_result(results.names, hand_in, graded, facts, grading))
        except ResultsFolderLost:
            raise
        except Exception as error:
            results.add_failure(hand_in, f"the record could not be made ({describe_error(error)[:LONGEST]})")
        else:
            results.zeroed.append((hand_in, facts))


def _ungraded_result(exercise: CourseExercise, facts: SubmissionFacts | None, failure: str) -> ExerciseResult:
    """Return the result of an exercise that was not judged, with the reason from the facts, or else `failure`."""
    if facts is not None and exercise.id in facts.unread:
        content = facts.unread[exercise.id]
        return exercise.unread_result(content.why, content.status)
    return exercise.unread_result(failure)


def grade_one(course: Course, path: Path, out: Path, grading: Grading, *, yes: bool) -> int:
    """Grade what one student handed in, a folder, an archive or a file, and write the record to `out`.

    Args:
        yes: where there is nothing to grade, write a record with 0 points that says why.

    Returns:
        The exit code: 0 if all is right, 1 if not, or if there is nothing to grade, 3 if grading failed.

    Raises:
        UsageError: it is not there.
        NoGradedRuns: learner code cannot be run here.
        InfrastructureError: the record cannot be written.
    """
    names = ExerciseNames(course, grading.exercises or course.exercises)
    hand_in, wanted = one_hand_in(path), tuple(exercise.id for exercise in names.wanted)
    reader = SubmissionReader(wanted, course_digest(names, grading.isolation != "none"))
    with GradingPool(course, grading.isolation, 1, grading.seed, reader) as pool:
        pool.probe()
        graded, facts = _read_alone(course, hand_in, reader)
        if facts is not None and facts.nothing:
            print(one_line(f"handgrad: nothing could be graded: {plain(facts.nothing)}."), file=sys.stderr)
            if yes:
                _write_record(out, course_result(names, hand_in, graded, facts, grading))
            return 1
        if facts is not None:
            pool.prepare(course.find(name) for name in facts.exercises)
            graded = next(outcome for outcome in pool.grade([(hand_in, hand_in)]) if outcome is not None)
            grading = replace(grading, seed=pool.seed)
    result = course_result(names, hand_in, graded, facts, grading)
    _write_record(out, result)
    return exit_code(result.exercises)


def _read_alone(course: Course, hand_in: HandIn, reader: Read) -> tuple[Graded, SubmissionFacts | None]:
    """Have `reader` read a submission in a new process, and judge nothing.

    Returns:
        An outcome without results, with the failure if it could not be read; and what was read, `None` if it could not.
    """
    with ReadingPool(course, 1, reader) as pool:
        read = next(outcome for outcome in pool.read([(hand_in, hand_in)]) if outcome is not None)
    return read, None if read.facts is None else SubmissionFacts.from_json(read.facts)


def _write_record(out: Path, result: CourseResult) -> None:
    """Write a record.

    Raises:
        InfrastructureError: it cannot be written.
    """
    try:
        write_atomically(out, dumps(result).encode())
    except OSError as error:
        raise InfrastructureError(f"{out} cannot be written ({error.strerror}): name another file.") from error
