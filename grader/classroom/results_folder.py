"""The folder of a class's results: one record per student, with a hash of what it was made from, and `grades.csv`."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader import __version__
from grader.course.course import COURSE_FILE, Course
from grader.errors import InfrastructureError, UsageError, describe_error, file_error
from grader.files import remove_unfinished, write_atomically
from grader.results.points import shown
from grader.results.records import RECORD_START, StudentResults, dumps, gives_points

from .class_file import GRADES_FILE
from .class_folder import REMOVED, ClassFolder
from .exercise_names import ExerciseNames
from .file_tree import name_bytes, printable_name
from .grade_comparison import (
    NO_SUBMISSION,
    GradeComparison,
    StoredGrades,
    grades_from_json,
    grades_to_json,
)
from .grades_table import ClassSummary, GradesTable, NothingToGrade, with_earlier
from .platform_names import LATE, Submission
from .roster import keys_of_records
from .score_changes import NO_CHANGES, ScoreChanges, time_zone
from .student_results import (
    BASIS_FILE,
    BEFORE_FILE,
    CHANGES_FILE,
    ReadExercise,
    cached_exercises,
    read_basis,
    read_record,
)
from .submissions import SubmissionFacts

LONGEST_NAME = 160  # bytes; with a hash and what an export puts after it, a name stays below 255
DIGITS = 32  # of the hash in a changed name, enough that nobody can make two names with the same
NO_FILE_NAME = re.compile(r"[/\0]|^\.")
CHANGED = re.compile(rf"-[0-9a-f]{{{DIGITS}}}\Z")
NOTHING = "nothing was handed in"
LONGEST = 200  # characters of a reason


class ResultsFolderLost(InfrastructureError):
    """Report that no student's result can be written to the results folder any more."""


@dataclass(frozen=True)
class EarlierResult:
    """Hold what tells whether a record that was in the folder before belongs to the run.

    Args:
        student: the name of the student.
        course: the name of the course.
        course_digest: a hash of the course and of the version of handgrad; `None` if the record has none.
        points: the points of each exercise; empty in a record of another version of handgrad.
        seed: the seed that it was graded with; `None` if nothing was graded.
        known_as: the other names of the student.
    """

    student: str
    course: str = ""
    course_digest: str | None = None
    points: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    known_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultsFolder:
    """Hold the results folder of a class during one run; each record is dropped as soon as it is counted.

    Args:
        names: the course, and which of its exercises are graded.
        out: the path of the folder.
        course_digest: a hash of the course and of the version of handgrad.
        digest: a hash of everything besides the submission that a result depends on, except the seed.
        identity: the device and inode of the folder, which tell whether another one has taken its place.
        table: the grades of the students so far.
        earlier: the results that the folder held when it was opened, by the names of their files, without exercises.
        comparison: the grades before this run, and now.
        changes: what changes the graded points: adjustments, and late work.
        is_whole: whether the whole class is graded, and not some students alone.
        students: the keys of all students of the class, if the whole class is graded.
        unclaimed: the keys of submissions that are of no known student, so that nobody can have 0 points for them.
        renamed: the names that students had in the last run and have now, where a record moved to another name.
        removed: the names of the files that were moved to `removed/`, because their students are no longer there.
        blank: the results by key of students of whom nothing could be graded, and who have no points, but may get 0.
        zeroed: the students of whom nothing could be graded and who have 0 points, by this run or an earlier one.
    """

    names: ExerciseNames
    out: Path
    course_digest: str
    digest: str
    identity: tuple[int, int]
    table: GradesTable
    earlier: Mapping[str, EarlierResult]
    comparison: GradeComparison
    changes: ScoreChanges = NO_CHANGES
    is_whole: bool = True
    students: Sequence[str] = ()
    unclaimed: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    blank: dict[str, StudentResults] = field(default_factory=dict)
    zeroed: list[NothingToGrade] = field(default_factory=list)
    _exercise_of: ReadExercise = field(default_factory=cached_exercises)
    _file_names: set[str] = field(default_factory=set)  # of the records of the students of this class

    def has_result(self, submission: Submission, seed: int | None) -> bool:
        """Return whether a student has a stored result in which every exercise was graded, with the given seed.

        Args:
            submission: the student's submission.
            seed: the seed; `None` for any. A result of which nothing was graded has no seed, and fits every seed.
        """
        stored = self._stored_results(submission.key)
        return stored is not None and (seed is None or stored.seed in (None, seed)) and not stored.ungraded

    def reuse(self, submission: Submission, facts: SubmissionFacts) -> bool:
        """Count the stored result of a student if it was made from the same content.

        Returns:
            Whether the result was counted; if not, the submission must be graded.
        """
        stored = self._stored_results(submission.key)
        if stored is None or stored.made_from != facts.made_from:
            return False
        known = replace(stored, submission=facts.hashes, known_as=submission.other_names)
        self._count_stored(submission.key, stored, known, facts.nothing, facts.notes)
        return True

    def _count_stored(
        self, name: str, stored: StudentResults, known: StudentResults, nothing: str, notes: tuple[str, ...] = ()
    ) -> None:
        """Count the stored results of a student; write them again if the adjustments or the lateness have changed.

        A student of whom nothing could be graded, and who may get 0 points, is entered in `zeroed` or `blank`.

        Args:
            name: the student's key.
            stored: the results.
            known: the results, with the facts of the submission that are known now, such as its hashes and names.
            nothing: why nothing could be graded; empty if something could.
            notes: the notes on the submission; where 0 points were entered, the reason stands before them.
        """
        is_zero = bool(nothing) and stored.notes == (nothing, *notes) and name not in self.unclaimed
        base = replace(known, adjustments=(), late=None, reason="" if is_zero else nothing)
        if self.changes.apply(name, base) != stored:
            self.write(name, base)
        else:
            self._count(name, stored)
        if not self._may_get_zero(name):
            return
        if is_zero:
            self.zeroed.append(NothingToGrade(stored.student, nothing))
        elif nothing:
            self.blank[name] = base

    def _may_get_zero(self, name: str) -> bool:
        """Return whether 0 points may be entered under a key: it is a student's, to whom no person gave points."""
        rows = self.changes.adjustments.get(name, ())
        return name not in self.unclaimed and not any(gives_points(row.exercise, row.points) for row in rows)

    def _count(self, name: str, results: StudentResults) -> None:
        """Count the results of the student with the key `name`, and compare them with those before the run."""
        self.table.count(name, results)
        self.comparison.compare(result_file(self.out, name).name, results)

    def keep_others(self, others: Sequence[Submission]) -> None:
        """Count in `grades.csv` the stored results of all students who are not graded in this run.

        Args:
            others: the submissions of such students, under whose keys they are counted; a student without one is
                counted by name.
        """
        keys = {result_file(self.out, submission.key).name: submission.key for submission in others}
        for file, earlier in self.earlier.items():
            if file in self._file_names:
                continue
            stored = read_record(self.out / file, self._exercise_of)
            if isinstance(stored, StudentResults):
                self.table.count(keys.get(file, earlier.student), stored)

    def note_students(self, chosen: Iterable[Submission]) -> None:
        """Note that these students are in the class and are graded."""
        self._file_names.update(result_file(self.out, submission.key).name for submission in chosen)

    def check_exercises(self, *, is_assignment: bool) -> None:
        """Check that the results in the folder may stay beside those of this run, or be replaced by them.

        All results in a folder are of the same exercises. After an edit of the course a run of the whole class replaces
        all results, if it grades every exercise that they hold and that is still in the course.

        Args:
            is_assignment: whether the folder belongs to an assignment, so that the message names no other folder.

        Raises:
            UsageError: they may do neither; the message names another folder, or a run of the whole class.
        """
        course, wanted = self.names.course, {exercise.id: exercise.points for exercise in self.names.wanted}
        known = {exercise.id for exercise in course.exercises}
        again = "the same command without --student grades everybody again."
        for file, earlier in self.earlier.items():
            if not self.is_whole and file in self._file_names:
                continue
            if not earlier.points:
                if self.is_whole:
                    continue
                raise UsageError(f"{self.out / file} was written by another version of handgrad: {again}")
            is_edited = earlier.course_digest != self.course_digest
            others = earlier.points.keys() - wanted.keys() if is_edited else earlier.points.keys() ^ wanted.keys()
            if earlier.course != course.config.course or others & (known if is_edited else others):
                held, grades = self.names.described(earlier.points), self.names.described(wanted)
                if earlier.course != course.config.course:
                    held, grades = f"the course {earlier.course}", f"the course {course.config.course}"
                elsewhere = f"name another folder for it, such as --out {self.out}-{self.names.wanted[0].unit}"
                raise UsageError(
                    f"{self.out} holds results of {held}, and this run grades {grades}: "
                    f"{again if is_assignment else elsewhere}"
                )
            if not self.is_whole and (is_edited or dict(earlier.points) != wanted):
                raise UsageError(f"{self.out} holds results of another version of the course: {again}")

    def common_seed(self, seed: int | None) -> int | None:
        """Return the seed that all records of the folder share after this run.

        Args:
            seed: the seed that was asked for; `None` for the seed of most records in the folder, and the least of
                several such seeds.

        Returns:
            The seed; `None` if there is no such record, so that a new seed can be drawn.

        Raises:
            UsageError: some students alone are graded, and the records of others have another seed than the one asked
                for.
        """
        seeds = Counter(earlier.seed for earlier in self.earlier.values() if earlier.seed is not None)
        if seed is None:
            return max(sorted(seeds), key=seeds.__getitem__, default=None)
        others = [
            earlier.seed
            for file, earlier in self.earlier.items()
            if earlier.seed not in (None, seed) and file not in self._file_names
        ]
        if others and not self.is_whole:
            raise UsageError(
                f"{self.out} was graded with seed {others[0]}: leave out --seed, or leave out --student to grade "
                "everybody again with this one."
            )
        return seed

    def has_other_seed(self, seed: int | None) -> bool:
        """Return whether the folder held a record that was graded with another seed than this one.

        `False` for `None`.
        """
        return seed is not None and any(earlier.seed not in (None, seed) for earlier in self.earlier.values())

    @property
    def is_course_changed(self) -> bool:
        """Return whether the folder held results of another version of the course or of handgrad."""
        return any(earlier.course_digest != self.course_digest for earlier in self.earlier.values())

    def write(self, name: str, result: StudentResults) -> None:
        """Write and count the result of one student, with the changes of points.

        In a run on the whole class, the first call also writes `BEFORE_FILE`, with the grades before the run.

        Args:
            name: the student's key.
            result: the result, as graded.

        Raises:
            ResultsFolderLost: the folder was moved or replaced, or no result can be written any more.
            OSError: this result cannot be written.
        """
        self._check_folder()
        result = self.changes.apply(name, result)
        path, data = self._file(name), dumps(result).encode()
        try:
            if self.is_whole and not (before := self.out / BEFORE_FILE).exists():
                files = [result_file(self.out, student).name for student in self.students]
                write_atomically(before, grades_to_json(self.comparison.before, files))
            write_atomically(path, data)
        except OSError as error:
            if not self._can_write(data):
                raise ResultsFolderLost(_cannot_be_written(path, error)) from error
            raise
        self._count(name, result)

    def add_failure(self, name: str, student: str, why: str) -> None:
        """Add a line to the table for a student whose result cannot be written.

        Args:
            name: the student's key.
            student: the student's name.
            why: the reason, a sentence.
        """
        self.table.add_failure(name, student, why)

    def leave_blank(self, name: str, results: StudentResults) -> None:
        """Write the record of a student of whom nothing could be graded, after moving an earlier one with points away.

        An earlier record is moved to the folder `removed/`. Points of 0 that a person entered for the same reason stay
        entered, unless the submission has changed. Unless a person has entered 0, `self.blank` gets the student, to be
        asked about.

        Args:
            name: the student's key.
            results: the results, with the reason.

        Raises:
            InfrastructureError: the earlier record cannot be moved.
            OSError: the record cannot be written.
        """
        path = self._file(name)
        if self._has_entered_zero(name, results):
            self._enter_zero(name, results)
            return
        earlier = self.comparison.before.get(path.name)
        is_graded = earlier is not None and earlier.seed is not None  # else its points are from a person
        if earlier is not None and is_graded and earlier.score and path.is_file():
            self._move_to_removed(path)
        self.write(name, results)
        if self._may_get_zero(name):
            self.blank[name] = results

    def _has_entered_zero(self, name: str, results: StudentResults) -> bool:
        """Return whether a student was given 0 points for the reason for which nothing can be graded now.

        The reason may be the same for another submission; so it must not be known that the submission has changed.

        Args:
            name: the student's key.
            results: the results now, with the reason.
        """
        stored = self._stored_results(name)
        if name in self.unclaimed or stored is None or stored.reason or stored.notes[:1] != (results.reason,):
            return False
        before, now = StoredGrades.of(stored), StoredGrades.of(results)
        # A note on a file, which tells two submissions apart, may come from the course or from what was asked.
        is_another_run = before.course_digest != now.course_digest or before.worth.keys() != now.worth.keys()
        return results.reason == NOTHING or is_another_run or before.has_same_submission(now) is True

    def _enter_zero(self, name: str, blank: StudentResults) -> None:
        """Write the record of a student of whom nothing could be graded with 0 points, and the reason as a note.

        Args:
            name: the student's key.
            blank: the results without a score, with the reason.

        Raises:
            ResultsFolderLost: no result can be written any more.
            OSError: this result cannot be written.
        """
        self.write(name, replace(blank, reason="", notes=(blank.reason, *blank.notes)))
        if self._may_get_zero(name):
            self.zeroed.append(NothingToGrade(blank.student, blank.reason))

    def enter_zeros(self) -> None:
        """Give 0 points to every student in `self.blank`, of whom nothing could be graded, and empty it.

        A student whose record cannot be written becomes a failure in the table.

        Raises:
            ResultsFolderLost: nobody's result can be written any more.
        """
        while self.blank:
            name, blank = self.blank.popitem()
            try:
                self._enter_zero(name, blank)
            except ResultsFolderLost:
                raise
            except Exception as error:
                self.add_failure(name, blank.student, not_made(error))

    def record_absent(self, students: Iterable[str], other_names: Mapping[str, tuple[str, ...]]) -> None:
        """Write a record without a score for each student who has no submission.

        A record of the same kind from an earlier run is kept, and counted. A student whose name is also that of a
        submission is left out.

        Args:
            students: the names of these students, as on the roster.
            other_names: the other names that the roster has of each of them, if any, by the student's name.

        Raises:
            InfrastructureError: nothing can be written any more, or an earlier record cannot be moved.
        """
        for name in students:
            if result_file(self.out, name).name in self._file_names:
                continue  # somebody of this very name handed in
            stored, known_as = self._stored_results(name), other_names.get(name, ())
            if stored is not None and stored.made_from == self.digest:
                known = replace(stored, submission=NO_SUBMISSION, known_as=known_as)
                self._count_stored(name, stored, known, NOTHING)
                continue
            missing = tuple(exercise.missing_result for exercise in self.names.wanted)
            blank = StudentResults(
                self.names.course.config.course, name, missing, made_from=self.digest,
                course_digest=self.course_digest, reason=NOTHING, submission=NO_SUBMISSION, known_as=known_as,
            )  # fmt: skip
            try:
                self.leave_blank(name, blank)
            except OSError as error:
                self.add_failure(name, name, not_made(error))

    def remove_absent_students(self) -> None:
        """Move the records of students who are no longer in the class to `removed/`, out of the class report.

        Raises:
            InfrastructureError: a record cannot be moved.
        """
        for path in sorted(self.out.glob("*.json")):
            if path.name not in self._file_names and path.is_file() and is_record(path):
                self._move_to_removed(path)

    def _file(self, name: str) -> Path:
        """Return the path of the record of the student with the key `name`, who is noted as being in the class."""
        path = result_file(self.out, name)
        self._file_names.add(path.name)
        return path

    def _check_folder(self) -> None:
        """Check that the folder is still the one that was opened and locked.

        Raises:
            ResultsFolderLost: the folder was moved, or another one is in its place.
            OSError: the folder cannot be examined.
        """
        with suppress(FileNotFoundError, NotADirectoryError):
            if _identity(self.out) == self.identity:
                return
        raise ResultsFolderLost(
            f"{self.out} was moved or removed while the class was graded. What was finished is in it: put it back, and "
            "run the same command again."
        )

    def _can_write(self, data: bytes) -> bool:
        """Return whether a new file with this content can be written into the folder; the file is removed again."""
        with suppress(OSError), tempfile.TemporaryFile(dir=self.out) as file:
            file.write(data)
            return True
        return False

    def _move_to_removed(self, path: Path) -> None:
        """Move a record to `removed/`, and append its file name there to `removed`, which the end of the run tells.

        Another record that was moved there earlier stays: the first free name `<student>-<n>.json` is taken.

        Raises:
            InfrastructureError: the record cannot be moved.
        """
        try:
            (self.out / REMOVED).mkdir(exist_ok=True)
            target, number = self.out / REMOVED / path.name, 2
            while target.exists() and target.read_bytes() != path.read_bytes():
                target, number = target.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
            path.replace(target)
        except OSError as error:
            raise InfrastructureError(_cannot_be_written(path, error, f"moved to {REMOVED}/")) from error
        self.removed.append(target.name)

    def remember(self, named_by: str) -> None:
        """Write to `BASIS_FILE` what a run of the whole class took from outside of the submissions.

        It is the roster's column of names, a hash of what decides late work, and the time zone that this was read in;
        later commands compare these. Nothing is written if the file holds the same already.

        Args:
            named_by: the folded heading of the roster's column that names the students; empty without a roster.

        Raises:
            InfrastructureError: the file cannot be written, or the folder was moved.
        """
        zone = time_zone() if self.changes.basis else ""
        before = read_basis(self.out)
        basis = before.model_copy(update={"named_by": named_by, "late": self.changes.basis, "zone": zone})
        if basis != before:
            self._write_table(BASIS_FILE, basis.model_dump_json())

    def publish(self) -> None:
        """Write `grades.csv`.

        Raises:
            InfrastructureError: the file cannot be written, or the folder was moved.
        """
        self._write_table(GRADES_FILE, self.table.text())

    def publish_changes(self) -> None:
        """Write `changes.csv`, and forget the grades before this run, which is over.

        If some students alone were graded, add their changes to those of the last run of the whole class.

        Raises:
            InfrastructureError: the file cannot be written, or the folder was moved.
        """
        if not self.is_whole:
            if self.comparison.changes:
                self._write_table(CHANGES_FILE, self.comparison.text(self._earlier_changes()))
            return
        self._write_table(CHANGES_FILE, self.comparison.text())
        with suppress(OSError):
            (self.out / BEFORE_FILE).unlink(missing_ok=True)

    def _earlier_changes(self) -> str:
        """Return the text of the `changes.csv` in the folder; empty if there is none that can be read."""
        with suppress(OSError, ValueError):
            return (self.out / CHANGES_FILE).read_bytes().decode("utf-8-sig")
        return ""

    def _write_table(self, name: str, text: str) -> None:
        """Write a text into the folder as the file `name`, in UTF-8 with a byte order mark, which spreadsheets need.

        Raises:
            InfrastructureError: the table cannot be written, or the folder was moved.
        """
        self._check_folder()
        path = self.out / name
        try:
            write_atomically(path, text.encode("utf-8-sig", "backslashreplace"))
        except OSError as error:
            raise InfrastructureError(_cannot_be_written(path, error)) from error

    def summary(self, class_folder: ClassFolder, graded: int, reused: int, seconds: float) -> ClassSummary:
        """Return the counts of the class.

        Args:
            class_folder: the submissions of the class.
            graded: how many submissions this run graded.
            reused: how many results it took from an earlier run.
            seconds: how long the run took.
        """
        counts = self.table.summary(class_folder, graded, reused, seconds, self.removed)
        entered = not counts.nothing and bool(self.zeroed)
        undated = tuple(key for key in self.changes.undated if key in self.table.graded)
        late = {submission.key for submission in class_folder.submissions if LATE in submission.notes}
        return replace(
            counts,
            nothing=with_earlier(
                sorted(self.zeroed, key=lambda row: row.student) if entered else counts.nothing, class_folder
            ),
            absent=counts.absent if self.is_whole else (),
            entered=entered,
            is_whole=self.is_whole,
            course_changed=self.is_whole and self.is_course_changed,
            gained=self.comparison.gained,
            lost=self.comparison.lost,
            renamed=self.renamed,
            named_by=class_folder.named_by,
            undated=undated,
            undated_late=tuple(key for key in undated if key in late),
            rescaled=tuple(line for _, line in sorted(self._adjustments_of_other_points())),
        )

    def _adjustments_of_other_points(self) -> Iterator[tuple[int, str]]:
        """Yield each adjustment that counted before this run, when its exercise had another maximum of points.

        Yields:
            The number of its line, and this number with the exercise and both maxima.
        """
        worth = {exercise.id: exercise.points for exercise in self.names.wanted}
        for key, rows in self.changes.adjustments.items():
            before = self.comparison.before.get(result_file(self.out, key).name)
            for line, name, points in [(row.line, row.exercise, row.points) for row in rows if row.exercise]:
                if before is None or before.adjusted.get(name) != points:
                    continue  # the line is new, or was edited
                if before.worth[name] != worth[name]:
                    yield line, f"line {line} ({name}: {shown(before.worth[name])} before, {shown(worth[name])} now)"

    def _stored_results(self, name: str) -> StudentResults | None:
        """Return the stored results of the student with the key `name`; `None` if there are none that can be read."""
        with suppress(UsageError):  # of another version
            stored = read_record(self._file(name), self._exercise_of)
            return stored if isinstance(stored, StudentResults) else None
        return None


def result_file(out: Path, name: str) -> Path:
    """Return the path of a student's record; no two students share one.

    It is `<student>.json`. A name that cannot be that of a file, or that has the form of a changed name, is changed and
    gets a hash, so that it differs from all others.

    Args:
        out: the results folder.
        name: the student's key.
    """
    raw = name_bytes(name)
    if len(raw) > LONGEST_NAME or not name.strip(".") or NO_FILE_NAME.search(name) or CHANGED.search(name):
        begin = NO_FILE_NAME.sub("_", raw[:LONGEST_NAME].decode("utf-8", "ignore"))
        name = f"{begin}-{hashlib.sha256(raw).hexdigest()[:DIGITS]}"
    elif not _is_file_name(name):
        name = f"_-{hashlib.sha256(raw).hexdigest()[:DIGITS]}"
    return out / f"{name}.json"


def _is_file_name(name: str) -> bool:
    """Return whether the operating system can encode a name as that of a file."""
    with suppress(UnicodeEncodeError):
        os.fsencode(name)
        return True
    return False


@contextmanager
def open_results_folder(
    names: ExerciseNames,
    out: Path,
    changes: ScoreChanges = NO_CHANGES,
    *,
    isolated: bool,
    chosen: Sequence[Submission] = (),
    class_folder: ClassFolder | None = None,
    is_assignment: bool = False,
) -> Iterator[ResultsFolder]:
    """Open or create a results folder, locked for this run.

    Args:
        names: the course, and which of its exercises are graded.
        out: the path of the folder.
        changes: what changes the graded points.
        isolated: whether learner code is isolated in this run; results of a run without isolation are not reused then.
        chosen: the submissions of the students who are graded alone; empty if the whole class is.
        class_folder: the submissions of the class, under the students' keys; earlier records get these keys.
        is_assignment: whether the folder belongs to an assignment, so that a whole run may change its exercises.

    Raises:
        UsageError: the folder cannot be written, another run is writing to it, or it holds results of other exercises.
        InfrastructureError: the disk is at fault, or a record cannot be written under its student's new key.
    """
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            identity = stack.enter_context(_lock(out, "" if is_assignment else ", or name another folder with --out"))
            tempfile.TemporaryFile(dir=out).close()
            remove_unfinished(out)
        except OSError as error:
            next_step = "move it away" if is_assignment else "name another folder with --out"
            raise file_error(f"Results cannot be written to {out}: {next_step}.", error) from error
        course, exercise_of = course_digest(names.course), cached_exercises()
        earlier, grades = _earlier_results(out, exercise_of)
        people = class_folder or ClassFolder((), "")
        students = (*(submission.key for submission in people.submissions), *people.absent)
        before, renamed = _grades_before(out, grades), dict[str, str]()
        keys, wanted = _keys_of_others(people, out, earlier), {submission.key for submission in chosen}
        claims = Counter([*keys.values(), *(key for key in keys.values() if result_file(out, key).name in earlier)])
        for file, key in keys.items():
            if claims[key] == 1 and (not wanted or key in wanted):
                renamed[earlier[file].student] = key
                _rename_record(out, file, key, earlier, before)
        folder = ResultsFolder(
            names, out, course, run_digest(names, course, isolated), identity, GradesTable(names), earlier,
            GradeComparison(before, keys), changes, not chosen, students,
            frozenset(each.key for each in people.submissions if each.is_unclaimed), renamed, _exercise_of=exercise_of,
        )  # fmt: skip
        folder.note_students(chosen)
        if chosen or not is_assignment:
            folder.check_exercises(is_assignment=is_assignment)
        yield folder


def _earlier_results(out: Path, exercise_of: ReadExercise) -> tuple[dict[str, EarlierResult], dict[str, StoredGrades]]:
    """Return, for each record in a folder, the run and student that it is of, and the grades that it holds.

    Args:
        out: the results folder.
        exercise_of: reads one exercise of a record from JSON.

    Returns:
        Both by the name of the record's file. A record of another version has no grades, and one that cannot be read is
        in neither.
    """
    earlier, grades = dict[str, EarlierResult](), dict[str, StoredGrades]()
    shared = dict[tuple[tuple[str, float], ...], dict[str, float]]()
    for path in sorted(out.glob("*.json")):
        try:
            stored = read_record(path, exercise_of)
        except UsageError:  # of another version
            earlier[path.name] = EarlierResult(path.stem)
            continue
        if isinstance(stored, StudentResults):
            points = tuple((exercise.id, exercise.max_score) for exercise in stored.exercises)
            same = shared.setdefault(points, dict(points))
            earlier[path.name] = EarlierResult(
                stored.student, stored.course, stored.course_digest, same, stored.seed, stored.known_as
            )
            grades[path.name] = StoredGrades.of(stored)
    return earlier, grades


def _keys_of_others(class_folder: ClassFolder, out: Path, earlier: Mapping[str, EarlierResult]) -> dict[str, str]:
    """Return the new key of each student whose record is stored under another one, by the name of the record's file.

    Whoever has a record under the new key as well was another student, unless the submission is still there: then it is
    that student's now.

    Args:
        class_folder: the submissions of the class, under the students' keys.
        out: the results folder.
        earlier: the records of earlier runs, by the names of their files.
    """
    keys = {*(submission.key for submission in class_folder.submissions), *class_folder.absent}
    files = {result_file(out, key).name for key in keys}
    others = {file: each for file, each in earlier.items() if file not in files and each.points}
    records = {each.student: each.known_as for each in others.values()}
    known = keys_of_records(class_folder, records, were_listed=bool(read_basis(out).named_by))
    called = {submission.key: submission.known_as for submission in class_folder.submissions}
    return {
        file: key
        for file, each in others.items()
        if (key := known.get(each.student)) is not None
        and (result_file(out, key).name not in earlier or each.student in called.get(key, ()))
    }


def _rename_record(
    out: Path, file: str, key: str, earlier: dict[str, EarlierResult], before: dict[str, StoredGrades]
) -> None:
    """Move a record and what is known of it to another key of its student.

    Args:
        out: the results folder.
        file: the name of the record's file.
        key: the student's key now.
        earlier: the records of earlier runs, by the names of their files.
        before: the grades before this run, by the names of their files.

    Raises:
        UsageError: the record cannot be read any more.
        InfrastructureError: a file cannot be written or removed.
    """
    target, stored = result_file(out, key), read_record(out / file)
    if not isinstance(stored, StudentResults):
        raise UsageError(f"{out / file} cannot be read any more: run the same command again.")
    student = printable_name(key)
    earlier[target.name] = replace(earlier.pop(file), student=student)
    if file in before:
        before[target.name] = before.pop(file)._replace(student=student)
    try:
        if (unfinished := out / BEFORE_FILE).exists():
            write_atomically(unfinished, grades_to_json(before))
        write_atomically(target, dumps(replace(stored, student=student)).encode())
        (out / file).unlink()
    except OSError as error:
        raise InfrastructureError(_cannot_be_written(out / file, error, f"renamed to {target.name}")) from error


def _grades_before(out: Path, grades: dict[str, StoredGrades]) -> dict[str, StoredGrades]:
    """Return the grades before this run, or before the run that was stopped and that this one continues.

    Args:
        out: the results folder.
        grades: the grades that the folder's records have now.

    Returns:
        The grades by the name of a record's file: those in `BEFORE_FILE`, or `grades` if it cannot be read.
    """
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return grades_from_json((out / BEFORE_FILE).read_bytes())
    return grades


@contextmanager
def _lock(folder: Path, advice: str) -> Iterator[tuple[int, int]]:
    """Lock a folder against other runs, where the file system can; the lock ends with the process.

    Args:
        folder: the folder.
        advice: what the user can do besides waiting, for the message.

    Yields:
        The device and inode of the folder.

    Raises:
        UsageError: another run has locked it.
    """
    if sys.platform == "win32":
        yield _identity(folder)
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"Another run is grading into {folder}: wait for it{advice}.") from None
        yield _identity(handle)
    finally:
        os.close(handle)


def _identity(folder: Path | int) -> tuple[int, int]:
    """Return the device and inode of a folder, given by path or descriptor, which stay the same when it is moved."""
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def course_digest(course: Course) -> str:
    """Return a hash of a course and of the version of handgrad.

    Of the course, `course.yaml` and the Python, YAML and JSON files in `solutions/` count.
    """
    kinds = {".py", ".yaml", ".json"}
    paths = sorted(p for p in course.solutions.rglob("*") if p.suffix in kinds and "__pycache__" not in p.parts)
    sources = [(path.relative_to(course.solutions).as_posix(), path.read_bytes()) for path in paths]
    everything = (__version__, (course.root / COURSE_FILE).read_bytes(), sources)
    return hashlib.sha256(repr(everything).encode()).hexdigest()


def run_digest(names: ExerciseNames, course: str, isolated: bool) -> str:
    """Return a hash of all that results depend on, except a submission and the seed.

    Args:
        names: the course with its time limits, and which of its exercises are graded.
        course: the course's digest.
        isolated: whether learner code is isolated.
    """
    everything = course, names.course.config.model_dump_json(), isolated, [e.id for e in names.wanted]
    return hashlib.sha256(repr(everything).encode()).hexdigest()


def is_record(path: Path) -> bool:
    """Return whether a file begins like a record of handgrad; raise an `OSError` if it cannot be read."""
    with path.open("rb") as file:
        return file.read(len(RECORD_START)) == RECORD_START


def not_made(error: Exception) -> str:
    """Return the clause "the record could not be made (...)", with the error that prevented it."""
    return f"the record could not be made ({describe_error(error)[:LONGEST]})"


def _cannot_be_written(path: Path, error: OSError, done: str = "written") -> str:
    """Return the message that a file cannot be written, with the reason and the next step.

    Args:
        path: the file.
        error: the exception that the attempt ended in.
        done: what cannot be done to the file, as a participle.
    """
    why = error.strerror or error
    return f"{path} cannot be {done} ({why}): close it or make room, and run the same command again."
