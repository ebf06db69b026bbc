"""The grading of a class by several processes, or of a single submission; no submission stops the others."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.course import Course, CourseExercise
from grader.errors import InfrastructureError, NoGradedRuns, UsageError, file_error
from grader.files import write_atomically
from grader.judging.grading_pool import Graded, GradingPool, Read, ReadingPool
from grader.results.records import ExerciseResult, StudentResults, dumps
from grader.safe_text import one_line
from grader.sandbox.isolation import Isolation

from .class_folder import ClassFolder, find_student, find_submissions
from .exercise_names import ExerciseNames
from .grades_table import ClassSummary, NothingToGrade, with_earlier
from .platform_names import Submission, single_submission
from .results_folder import (
    ResultsFolder,
    ResultsFolderLost,
    course_digest,
    is_record,
    not_made,
    open_results_folder,
    run_digest,
)
from .score_changes import NO_CHANGES, ScoreChanges
from .submissions import SubmissionFacts, SubmissionReader

if TYPE_CHECKING:
    from .dask_pool import Cluster

TICK = 1.0  # seconds between two times that the table is written, at least
PUBLISHING = 0.05  # share of the time that writing the table may take
ReportProgress = Callable[["GradingProgress"], None]
AskForZeros = Callable[[Sequence[NothingToGrade]], bool]


@dataclass(frozen=True)
class GradingProgress:
    """Count the submissions that are done.

    Args:
        done: how many submissions have their result, including those of an earlier run.
        total: how many submissions there are.
        rate: submissions graded per second since the first one was graded; 0 until a second one is.
    """

    done: int
    total: int
    rate: float = 0.0


@dataclass(frozen=True)
class Grading:
    """Hold the options that a class is graded with.

    Args:
        workers: how many worker processes grade at the same time.
        isolation: how learner code is isolated; see `isolation.choose`.
        seed: the seed of every trial; that of the results folder if not given, or drawn at random for the first run.
        exercises: the exercises that are graded; all of the course if empty.
        students: the names of the students who are graded; everybody if empty.
        cluster: the cluster whose workers grade; this machine grades if not given.
        changes: what changes the graded points: adjustments, and late work.
        is_assignment: whether the results folder belongs to what is graded, an assignment of `class.yaml`.
    """

    workers: int
    isolation: Isolation
    seed: int | None = None
    exercises: tuple[CourseExercise, ...] = ()
    students: frozenset[str] = frozenset()
    cluster: Cluster | None = None
    changes: ScoreChanges = NO_CHANGES
    is_assignment: bool = False


def refuse_zeros(nothing: Sequence[NothingToGrade]) -> bool:
    """Return `False`: students who submitted nothing gradable get no points, and not 0."""
    return False


def grade_folder(
    course: Course, submissions: Path, out: Path, *, workers: int, isolation: Isolation, seed: int | None = None,
    report: ReportProgress | None = None, ask: AskForZeros = refuse_zeros,
) -> ClassSummary:  # fmt: skip
    """Find the submissions of a class in a folder or archive, and grade them as `grade_class` does; return its counts.

    Args:
        course: the course.
        submissions: the folder or archive of the class, in any layout.
        out: the results folder, for a record of each student and `grades.csv`.
        workers: how many processes grade at the same time.
        isolation: how learner code is isolated.
        seed: the seed of every trial; if `None`, the seed of the results folder, or a random one for a new folder.
        report: called with the progress whenever a submission is done.
        ask: returns whether students who submitted nothing gradable get 0 points; otherwise they have none.

    Raises:
        UsageError: there are no submissions, or `out` cannot be written.
    """
    class_folder = find_submissions(course, submissions, out)
    return grade_class(course, class_folder, out, Grading(workers, isolation, seed), report, ask)


def grade_class(
    course: Course,
    class_folder: ClassFolder,
    out: Path,
    grading: Grading,
    report: ReportProgress | None = None,
    ask: AskForZeros = refuse_zeros,
) -> ClassSummary:
    """Grade every submission into `out/<student>.json` and `out/grades.csv`, and return the counts of the class.

    `out/changes.csv` then says what changed since the run before. In a run on everybody, records of students who left
    are moved to `out/removed`.

    Args:
        course: the course.
        class_folder: the submissions of the class.
        out: the results folder.
        grading: the options.
        report: called in this thread: at the start, and whenever a submission is done.
        ask: returns whether to enter 0 points for the students who submitted nothing that could be graded; otherwise
            they have none.

    Raises:
        UsageError: there are no workers, no student has one of the names in `grading.students`, or `out` cannot be
            written.
        SpecError: a declaration of the course cannot be used.
        NoGradedRuns: learner code cannot be run here.
        InfrastructureError: no result can be written any more, or there can be no grading process.
        KeyboardInterrupt: passed on, once everything that is finished has been written.
    """
    started = time.monotonic()
    if grading.workers < 1:
        raise UsageError(f"{grading.workers} workers cannot grade anything: ask for one or more.")
    chosen, others = _select_students(class_folder, grading.students)
    names = ExerciseNames(course, grading.exercises or course.exercises)
    progress = _ProgressCounter(len(chosen), report)
    is_isolated, alone = grading.isolation != "none", chosen if grading.students else ()
    with open_results_folder(
        names, out, grading.changes, isolated=is_isolated, chosen=alone, class_folder=class_folder,
        is_assignment=grading.is_assignment,
    ) as results:  # fmt: skip
        if grading.students:
            results.keep_others(others)
        grading = replace(grading, seed=results.common_seed(grading.seed))
        try:
            pending = _submissions_to_grade(results, chosen, grading, progress)
            if pending:
                _write_results(results, pending, grading, progress)
            if not grading.students:
                results.record_absent(class_folder.absent, class_folder.absent_names)
            nothing = [NothingToGrade(blank.student, blank.reason) for blank in results.blank.values()]
            if nothing and ask(with_earlier(sorted(nothing, key=lambda entry: entry.student), class_folder)):
                results.enter_zeros()
            if not grading.students:
                results.remove_absent_students()
                results.remember(class_folder.named_by)
        except NoGradedRuns:  # nothing was read: the results of an earlier run stay
            with contextlib.suppress(OSError):
                out.rmdir()
            raise
        except BaseException:
            results.publish()
            raise
        results.publish()
        results.publish_changes()
        summary = results.summary(class_folder, progress.graded, progress.reused, time.monotonic() - started)
        return replace(summary, seed_changed=bool(pending) and results.has_other_seed(grading.seed))


def _select_students(class_folder: ClassFolder, students: frozenset[str]) -> tuple[list[Submission], list[Submission]]:
    """Return the submissions of the students who are to be graded, and those of all others, in the class's order.

    Args:
        class_folder: the submissions of the class.
        students: the names, keys or other names of those to grade; everybody if empty.

    Raises:
        UsageError: nobody has one of these names, or several have, or the student handed in nothing.
    """
    submissions = list(class_folder.submissions)
    if not students:
        return submissions, []
    names = {_roster_key(class_folder, name) for name in students}
    if absent := next((name for name in class_folder.absent if name in names), ""):
        raise UsageError(
            one_line(
                f"{absent} handed in nothing: the same command without --student writes the record, with any points."
            )
        )
    keys = {find_student(submissions, name).key for name in names}
    chosen = [submission for submission in submissions if submission.key in keys]
    return chosen, [submission for submission in submissions if submission.key not in keys]


def _roster_key(class_folder: ClassFolder, name: str) -> str:
    """Return the key of the only student in whose line of the roster `name` stands.

    The name itself is returned if it stands in the line of nobody or of several, or if a submission has it.
    """
    people = {other for submission in class_folder.submissions for other in (submission.key, *submission.known_as)}
    return name if name in people else class_folder.key_of(Submission(name, ()), True) or name


def _submissions_to_grade(
    results: ResultsFolder, chosen: Sequence[Submission], grading: Grading, progress: _ProgressCounter
) -> list[Submission]:
    """Return the submissions that must be graded; count the others, which have a stored result of the same content.

    If no submission has anything to grade, they are all recorded here, so that nothing else is loaded for them, and the
    list is empty.

    Args:
        results: the results folder, which has the stored results.
        chosen: the submissions of the students who are to be graded.
        grading: the options.
        progress: counts the submissions that are done.
    """
    stored = list[Submission]()
    for submission in chosen:
        with contextlib.suppress(Exception):  # a result that cannot be read is made again
            stored += [submission] if results.has_result(submission, grading.seed) else []
    reused, empty = set[str](), list[Graded]()
    with ReadingPool(results.names.course, min(grading.workers, max(len(stored), 1)), _reader(results)) as pool:
        for read in pool.read(zip(stored, stored, strict=True)):
            with contextlib.suppress(Exception):
                if read is not None and read.facts and results.reuse(read.key, SubmissionFacts.from_json(read.facts)):
                    reused.add(read.key.key)
                    progress.count_reused()
        pending = [submission for submission in chosen if submission.key not in reused]
        with contextlib.suppress(Exception):  # what cannot be read here is read again where it is graded
            for read in pool.read(zip(pending, pending, strict=True)) if len(reused) == len(stored) else ():
                if read is not None:
                    if not (read.facts and read.facts["nothing"]):
                        break
                    empty.append(read)
    if len(empty) < len(pending):
        return pending
    for _ in _write_outcomes(results, ((read, grading) for read in empty)):
        with contextlib.suppress(Exception):
            progress.count_done()
    return []


def _reader(results: ResultsFolder, *, keeps_parts: bool = False) -> SubmissionReader:
    """Return a reader of submissions for the exercises that the results folder is for.

    Args:
        results: the results folder.
        keeps_parts: whether to keep the answers that it reads, as is needed to grade them elsewhere.
    """
    wanted = tuple(exercise.id for exercise in results.names.wanted)
    return SubmissionReader(wanted, results.digest, keeps_parts)


def _write_results(
    results: ResultsFolder, pending: Sequence[Submission], grading: Grading, progress: _ProgressCounter
) -> None:
    """Grade submissions and write each result as soon as it is there; update the CSV about once a second.

    Args:
        results: the results folder.
        pending: the submissions.
        grading: the options.
        progress: counts the submissions that are done.
    """
    publish_at = time.monotonic() + TICK
    with contextlib.closing(_grade_pending(results, pending, grading)) as graded:
        for is_graded in _write_outcomes(results, graded):
            if is_graded is not None:
                with contextlib.suppress(Exception):  # only the display of the progress
                    (progress.count_graded if is_graded else progress.count_done)()
            if (now := time.monotonic()) >= publish_at:
                with contextlib.suppress(Exception):  # open in a spreadsheet, perhaps: the last one counts
                    results.publish()
                seconds = time.monotonic() - now
                publish_at = now + max(TICK, seconds / PUBLISHING)


def _write_outcomes(results: ResultsFolder, outcomes: Iterable[tuple[Graded, Grading] | None]) -> Iterator[bool | None]:
    """Write the result of each submission; if that fails, write a record with the error instead.

    Args:
        results: the results folder.
        outcomes: the outcome of a submission, and the options that it was graded with; `None` if there is none yet.

    Yields:
        For each outcome `True` if the submission was graded or its result could not be written, `False` if it contains
        nothing to grade, and `None` for `None`.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    for outcome in outcomes:
        is_graded = None
        if outcome is not None:
            try:
                is_graded = _write_outcome(results, *outcome)
            except ResultsFolderLost:  # nobody's result can be written any more
                raise
            except Exception as error:  # which ends this submission alone
                _write_failure(results, *outcome, error)
                is_graded = True
        yield is_graded


def _write_outcome(results: ResultsFolder, graded: Graded, made_in: Grading) -> bool:
    """Write the result of one submission.

    Args:
        results: the results folder.
        graded: the outcome of the submission.
        made_in: the options that it was graded with, with the seed.

    Returns:
        Whether it was graded; false if it contains nothing to grade.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    submission: Submission = graded.key
    facts = None if graded.facts is None else SubmissionFacts.from_json(graded.facts)
    student_results = course_result(results.names, results.course_digest, submission, graded, facts, made_in)
    if student_results.reason:
        results.leave_blank(submission.key, student_results)
        return False
    results.write(submission.key, student_results)
    return True


def _write_failure(results: ResultsFolder, graded: Graded, made_in: Grading, error: Exception) -> None:
    """Write a record with the error in place of a submission's result; if that fails too, only a line in the table.

    Args:
        results: the results folder.
        graded: the outcome of the submission.
        made_in: the options that it was graded with, with the seed.
        error: why the result could not be written.

    Raises:
        ResultsFolderLost: nobody's result can be written any more.
    """
    submission: Submission = graded.key
    names, digest = results.names, results.course_digest
    why = not_made(error)
    try:
        failed = Graded(submission, [], failure=why)
        results.write(submission.key, course_result(names, digest, submission, failed, None, made_in))
    except ResultsFolderLost:
        raise
    except Exception:
        results.add_failure(submission.key, submission.student, why)


class _ProgressCounter:
    """Count the submissions that are done, and report the count and the rate."""

    def __init__(self, total: int, report: ReportProgress | None) -> None:
        """Report that none of `total` submissions is done, by a call of `report` unless it is `None`."""
        self.total, self.report = total, report or (lambda progress: None)
        self.done = self.graded = self.reused = 0
        self.first = 0.0
        with contextlib.suppress(Exception):  # the progress cannot be displayed, which must cost nobody a record
            self.report(GradingProgress(0, total))

    def count_reused(self) -> None:
        """Count a submission whose stored result is reused."""
        self.reused += 1
        self.count_done()

    def count_done(self) -> None:
        """Count a submission that contains nothing to grade, or has its result already."""
        self.done += 1
        self.report(GradingProgress(self.done, self.total))

    def count_graded(self) -> None:
        """Count a submission graded in this run, and report the progress, with the rate since the first of these."""
        now = time.monotonic()
        self.done, self.graded, self.first = self.done + 1, self.graded + 1, self.first or now
        rate = (self.graded - 1) / (now - self.first) if now > self.first else 0.0
        self.report(GradingProgress(self.done, self.total, rate))


def _grade_pending(
    results: ResultsFolder, pending: Sequence[Submission], grading: Grading
) -> Generator[tuple[Graded, Grading] | None]:
    """Grade these submissions, here or on a cluster; all processes have ended when the generator is closed.

    Args:
        results: read for the course, for which of its exercises are graded, and for how submissions are read; nothing
            is written to it.
        pending: the submissions.
        grading: the options; the seed, if they have none, is drawn here.

    Yields:
        The outcome of each submission, once it is known, and the options that it was graded with, with the seed; `None`
        whenever some time passes without an outcome.
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
    names: ExerciseNames,
    digest: str,
    submission: Submission,
    graded: Graded,
    facts: SubmissionFacts | None,
    made_in: Grading,
) -> StudentResults:
    """Return the results of a submission: every exercise of the run, in teaching order.

    Args:
        names: the course, and which of its exercises are graded.
        digest: the hash of the course and of the version of handgrad.
        submission: the submission.
        graded: the submission's outcome: the results of the exercises that were judged, or why none were.
        facts: the submission's facts; `None` if it could not be read, so that every exercise counts as submitted.
        made_in: the options that it was graded with, with the seed.
    """
    by_id = {result.id: result for result in graded.results}
    exercises = tuple(
        by_id.get(exercise.id) or _ungraded_result(exercise, facts, graded.failure) for exercise in names.wanted
    )
    flags = tuple(f"{exercise.id}: {flag}" for exercise in exercises for flag in exercise.flags)
    notes, nothing = (submission.notes, "") if facts is None else (facts.notes, facts.nothing)
    return StudentResults(
        course=names.course.config.course,
        student=submission.student,
        exercises=exercises,
        seed=None if nothing else made_in.seed,
        isolation=None if nothing else made_in.isolation,
        made_from=None if facts is None else facts.made_from,
        notes=(*notes, *flags),
        course_digest=digest,
        reason=nothing,
        submission={} if facts is None else facts.hashes,
        known_as=submission.other_names,
    )


def _ungraded_result(exercise: CourseExercise, facts: SubmissionFacts | None, failure: str) -> ExerciseResult:
    """Return the result of an exercise that was not judged.

    It is the one for a missing answer if it was not handed in; one with the status, code and reason of its file if that
    could not be read; else an error with the message `failure`.

    Args:
        exercise: the exercise.
        facts: the facts of the submission, which say whether the exercise was handed in and read; `None` if there are
            none.
        failure: why the exercise was not judged if it was handed in and read.
    """
    if facts is not None and exercise.id not in facts.exercises:
        return exercise.missing_result
    if facts is not None and exercise.id in facts.unread:
        content = facts.unread[exercise.id]
        return exercise.unread_result(content.why, content.status, content.code)
    return exercise.unread_result(failure)


def grade_submission(course: Course, path: Path, out: Path, grading: Grading, *, yes: bool) -> StudentResults:
    """Grade the submission of one student, write the record to a file in place of an older one, and return the results.

    The older record is removed before anything is graded.

    Args:
        course: the course.
        path: the submission: a folder, an archive or a file.
        out: the path of the record.
        grading: the options.
        yes: whether to give 0 points if there is nothing to grade; the record has no score otherwise.

    Raises:
        UsageError: the path does not exist, or `out` is something else than a record.
        NoGradedRuns: learner code cannot be run here.
        InfrastructureError: the record cannot be written.
    """
    try:
        if out.exists() and not (out.is_file() and is_record(out)):
            raise UsageError(f"{out} exists, and is no record of a student: name another file with --out.")
        out.unlink(missing_ok=True)
    except OSError as error:
        message = f"{out} cannot be replaced ({error.strerror}): name another file with --out."
        raise file_error(message, error) from error
    names = ExerciseNames(course, grading.exercises or course.exercises)
    submission, wanted = single_submission(path), tuple(exercise.id for exercise in names.wanted)
    digest = course_digest(course)
    reader = SubmissionReader(wanted, run_digest(names, digest, grading.isolation != "none"))
    with GradingPool(course, grading.isolation, 1, grading.seed, reader) as pool:
        pool.probe()
        graded, facts = _read_alone(course, submission, reader)
        if facts is not None and not facts.nothing:
            pool.prepare(course.find(name) for name in facts.exercises)
            graded = next(outcome for outcome in pool.grade([(submission, submission)]) if outcome is not None)
            grading = replace(grading, seed=pool.seed)
    results = course_result(names, digest, submission, graded, facts, grading)
    if yes and results.reason:
        results = replace(results, reason="", notes=(results.reason, *results.notes))
    _write_record(out, results)
    return results


def _read_alone(course: Course, submission: Submission, reader: Read) -> tuple[Graded, SubmissionFacts | None]:
    """Have `reader` read a submission in a new process, and judge nothing.

    Returns:
        The outcome, without results; and the facts that were read. If the submission could not be read, the outcome
        has a failure, and the facts are `None`.
    """
    with ReadingPool(course, 1, reader) as pool:
        read = next(outcome for outcome in pool.read([(submission, submission)]) if outcome is not None)
    return read, None if read.facts is None else SubmissionFacts.from_json(read.facts)


def _write_record(out: Path, result: StudentResults) -> None:
    """Write the record of one student to the file `out`.

    Raises:
        InfrastructureError: the file cannot be written.
    """
    try:
        write_atomically(out, dumps(result).encode())
    except OSError as error:
        raise InfrastructureError(f"{out} cannot be written ({error.strerror}): name another file.") from error
