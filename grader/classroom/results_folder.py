"""The folder of a class's results: one record per student, with a hash of what it was made from, and `grades.csv`."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from grader import __version__
from grader.course.course import COURSE_FILE, Course
from grader.errors import InfrastructureError, UsageError, file_error
from grader.files import remove_unfinished, write_atomically
from grader.results.records import SCHEMA, StudentResults, dumps

from .class_folder import ClassFolder, Submission
from .exercise_names import ExerciseNames
from .file_tree import name_bytes
from .grades_table import ClassSummary, GradesTable, NothingToGrade
from .score_changes import NO_CHANGES, ScoreChanges
from .student_results import ReadExercise, cached_exercises, read_record
from .submissions import SubmissionFacts

GRADES_FILE = "grades.csv"
LONGEST_NAME = 160  # bytes; with a hash and what an export puts after it, a name stays below 255
DIGITS = 32  # of the hash in a changed name, enough that nobody can make two names with the same
REMOVED = "removed"
RECORD_START = f'{{"schema": "{SCHEMA.partition("@")[0]}@'.encode()
NO_FILE_NAME = re.compile(r"[/\0]|^\.")
CHANGED = re.compile(rf"-[0-9a-f]{{{DIGITS}}}\Z")
Empty = tuple[Submission, SubmissionFacts]  # a submission that contains nothing to grade, and its facts


class ResultsFolderLost(InfrastructureError):
    """Report that no student's result can be written to the results folder any more."""


@dataclass(frozen=True)
class ResultsFolder:
    """Hold the results folder of a class during one run; each record is dropped as soon as it is counted.

    Args:
        names: the course, and which of its exercises are graded.
        out: the path of the folder.
        course_digest: see `course_digest`.
        digest: a hash of everything besides the submission that a result depends on, except the seed.
        identity: the device and inode of the folder, which tell whether another one has taken its place.
        table: the grades of the students so far.
        changes: what changes the graded points: adjustments, and late work.
        removed: the names of the files that were moved to `removed/`, because their students are no longer there.
        empty: the submissions that contain nothing to grade, and have no points.
        zeroed: the submissions that contain nothing to grade and got 0 points, in this run or an earlier one.
    """

    names: ExerciseNames
    out: Path
    course_digest: str
    digest: str
    identity: tuple[int, int]
    table: GradesTable
    changes: ScoreChanges = NO_CHANGES
    removed: list[str] = field(default_factory=list)
    empty: list[Empty] = field(default_factory=list)
    zeroed: list[Empty] = field(default_factory=list)
    _exercise_of: ReadExercise = field(default_factory=cached_exercises)
    _file_names: set[str] = field(default_factory=set)  # of the records of the students of this class

    def has_result(self, submission: Submission, seed: int | None) -> bool:
        """Return whether a student has a stored result without errors, and with this seed unless it is `None`."""
        stored = self._stored(submission.key)
        return stored is not None and (seed is None or stored.seed in (None, seed)) and not stored.ungraded

    def reuse(self, submission: Submission, facts: SubmissionFacts) -> bool:
        """Count the stored result of a student if it was made from the same content.

        Returns:
            Whether it was; if not, the submission must be graded.
        """
        stored = self._stored(submission.key)
        if stored is None or stored.made_from != facts.made_from:
            return False
        if self.changes.apply(submission.key, stored) != stored:
            self.write(submission.key, stored)
        else:
            self.table.count(submission.key, stored)
        self.zeroed.extend([(submission, facts)] if facts.nothing else [])
        return True

    def keep(self, name: str) -> None:
        """Count the stored result of a student who is not graded in this run in `grades.csv`, if there is one.

        Args:
            name: the student's key.
        """
        if (stored := self._stored(name)) is not None:
            self.table.count(name, stored)

    def write(self, name: str, result: StudentResults) -> None:
        """Write and count the result of one student, with the changes of points.

        Args:
            name: the student's key.
            result: the result, as graded.

        Raises:
            ResultsFolderLost: no result can be written any more.
            OSError: this one cannot be written.
        """
        self._check_folder()
        result = self.changes.apply(name, result)
        path, data = self._file(name), dumps(result).encode()
        try:
            write_atomically(path, data)
        except OSError as error:
            if not self._can_write(data):
                raise ResultsFolderLost(_cannot_be_written(path, error)) from error
            raise
        self.table.count(name, result)

    def add_failure(self, submission: Submission, why: str) -> None:
        """Add a line to the table for a student whose result cannot be written.

        Args:
            submission: the student's submission.
            why: the reason, a sentence.
        """
        self.table.add_failure(submission.key, submission.student, why)

    def record_empty(self, submission: Submission, facts: SubmissionFacts) -> None:
        """Record that a submission contains nothing to grade, as a blank line; move an earlier result to `removed/`.

        Raises:
            InfrastructureError: the earlier result cannot be moved.
        """
        if (path := self._file(submission.key)).is_file():
            self._move_to_removed(path)
        self.table.leave_blank(submission.key, submission.student, f"not graded: {facts.nothing}")
        self.empty.append((submission, facts))

    def remove_absent_students(self) -> None:
        """Move the records of students who are no longer in the class to `removed/`, out of the class report."""
        for path in sorted(self.out.glob("*.json")):
            if path.name not in self._file_names and path.is_file() and _is_record(path):
                self._move_to_removed(path)

    def _file(self, name: str) -> Path:
        """Return the path of a student's record, and note that this student is in the class."""
        path = result_file(self.out, name)
        self._file_names.add(path.name)
        return path

    def _check_folder(self) -> None:
        """Check that the folder is still the one that was opened and locked.

        Raises:
            ResultsFolderLost: it was moved, or another one is in its place.
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
        """Return whether a new file with this content can be written in the folder."""
        with suppress(OSError), tempfile.TemporaryFile(dir=self.out) as file:
            file.write(data)
            return True
        return False

    def _move_to_removed(self, path: Path) -> None:
        """Move a record to `removed/` and list it.

        Raises:
            InfrastructureError: it cannot be moved.
        """
        try:
            (self.out / REMOVED).mkdir(exist_ok=True)
            path.replace(self.out / REMOVED / path.name)
        except OSError as error:
            raise InfrastructureError(f"{path} cannot be moved to {REMOVED}/ ({error.strerror}): move it.") from error
        self.removed.append(path.name)

    def publish(self, absent: Sequence[str] = ()) -> None:
        """Write `grades.csv`.

        Args:
            absent: the names of students without a submission.

        Raises:
            InfrastructureError: it cannot be written, or the folder was moved.
        """
        self._check_folder()
        path = self.out / GRADES_FILE
        try:
            write_atomically(path, self.table.text(absent).encode("utf-8-sig", "backslashreplace"))
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
        nothing, entered = by_student(self.empty or self.zeroed), not self.empty and bool(self.zeroed)
        return self.table.summary(class_folder, graded, reused, seconds, nothing, self.removed, entered=entered)

    def _stored(self, name: str) -> StudentResults | None:
        """Return the stored results of a student; `None` if there are none that can be read."""
        with suppress(UsageError):  # of another version
            stored = read_record(self._file(name), self._exercise_of)
            return stored if isinstance(stored, StudentResults) else None
        return None


def by_student(empty: Sequence[Empty]) -> list[NothingToGrade]:
    """Return the students whose submissions contain nothing to grade, sorted by name."""
    return sorted(
        (NothingToGrade(submission.student, facts.nothing) for submission, facts in empty), key=lambda row: row.student
    )


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
    names: ExerciseNames, out: Path, changes: ScoreChanges = NO_CHANGES, *, isolated: bool
) -> Iterator[ResultsFolder]:
    """Open or create a results folder, locked for this run.

    Args:
        names: the course, and which of its exercises are graded.
        out: the path of the folder.
        changes: what changes the graded points.
        isolated: whether learner code is isolated in this run; results of a run without isolation are not reused then.

    Raises:
        UsageError: it cannot be written, or another run is writing to it.
    """
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            identity = stack.enter_context(_lock(out))
            tempfile.TemporaryFile(dir=out).close()
            remove_unfinished(out)
        except OSError as error:
            raise file_error(f"Results cannot be written to {out}: name another folder with --out.", error) from error
        course = course_digest(names.course)
        yield ResultsFolder(
            names, out, course, run_digest(names, course, isolated), identity, GradesTable(names), changes
        )


@contextmanager
def _lock(folder: Path) -> Iterator[tuple[int, int]]:
    """Lock a folder against other runs, where the file system can; the lock ends with the process.

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
                reason = f"Another run is grading into {folder}: wait for it, or name another folder with --out."
                raise UsageError(reason) from None
        yield _identity(handle)
    finally:
        os.close(handle)


def _identity(folder: Path | int) -> tuple[int, int]:
    """Return the device and inode of a folder, which stay the same when it is moved."""
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def course_digest(course: Course) -> str:
    """Return a hash of a course, its `course.yaml` and `solutions/`, and of the version of handgrad."""
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


def _is_record(path: Path) -> bool:
    """Return whether a file begins like a record of handgrad."""
    with path.open("rb") as file:
        return file.read(len(RECORD_START)) == RECORD_START


def _cannot_be_written(path: Path, error: OSError) -> str:
    """Return the message that a file cannot be written, and what to do."""
    why = error.strerror or error
    return f"{path} cannot be written ({why}): close it or make room, and run the same command again."
