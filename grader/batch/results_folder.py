"""The results folder of a class: one record per student, with a hash of what it was made from, and one CSV file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader import __version__
from grader.atomic_files import remove_unfinished, write_atomically
from grader.errors import InfrastructureError, UsageError
from grader.results import SCHEMA, CourseResult, dumps

from .exercise_names import ExerciseNames
from .grades_table import GradesTable, Nothing, Summary, failures_in
from .hand_in import HandIn
from .hand_ins import HandIns
from .printable_names import printable
from .submissions import Submission, read_submission

GRADES_FILE = "grades.csv"
LONGEST_NAME = 200
REMOVED = "removed"
OURS = f'{{"schema": "{SCHEMA.partition("@")[0]}@'.encode()
NO_FILE_NAME = re.compile(r"[/\0]|^\.")


@dataclass(frozen=True)
class ResultsFolder:
    """A results folder while a class is graded into it; no record is held longer than it takes to enter it.

    Args:
        names: the course, and what of it is graded.
        digest: a hash of the course as it grades.
        table: what was counted so far.
        empty: the hand-ins that hold nothing that could be graded, and have no points.
        zeroed: those of them that have 0 points, by this run or an earlier one.
        removed: files of results that were put away, because their students are no longer there.
    """

    names: ExerciseNames
    out: Path
    digest: str
    table: GradesTable
    removed: list[str] = field(default_factory=list)
    empty: list[Submission] = field(default_factory=list)
    zeroed: list[Submission] = field(default_factory=list)

    def made_from(self, submission: Submission) -> str:
        """A hash of everything that a result depends on, but for the seed."""
        return made_from(self.digest, submission)

    def reuse(self, hand_in: HandIn, seed: int | None) -> bool:
        """Take over the stored result, if it was made from the same content, and from this seed if there is one."""
        try:
            record = self._stored(hand_in.key)
            if seed not in (None, record["seed"]) or failures_in(record):
                return False
            submission = read_submission(self.names, hand_in)
            if record["made_from"] != self.made_from(submission):
                return False
            self.table.count(hand_in.key, record)
            self.zeroed.extend([submission] if submission.nothing else [])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False  # none, or none that can be read: it is made again
        return True

    def keep(self, name: str) -> None:
        """Take over the stored result of a student who is not graded in this run, if there is one."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.table.count(name, self._stored(name))

    def write(self, name: str, result: CourseResult) -> None:
        """Write the result of one student."""
        _write(result_file(self.out, name), dumps(result).encode())
        self.table.count(name, result.record)

    def set_aside(self, submission: Submission) -> None:
        """A hand-in that holds nothing to grade: it has no points, and an earlier result of the student's is gone."""
        self.empty.append(submission)
        self.table.leave_blank(submission.name, printable(submission.name), f"not graded: {submission.nothing}")
        if (path := result_file(self.out, submission.name)).is_file():
            self._put_away(path)

    def put_away_strangers(self) -> None:
        """Take the results of students who are no longer there out of the way of the report."""
        ours = {result_file(self.out, name).name for name in self.table.scored}
        for path in sorted(self.out.glob("*.json")):
            if path.name not in ours and path.is_file() and _is_record(path):
                self._put_away(path)

    def _put_away(self, path: Path) -> None:
        try:
            (self.out / REMOVED).mkdir(exist_ok=True)
            path.replace(self.out / REMOVED / path.name)
        except OSError as error:
            raise InfrastructureError(f"{path} cannot be moved to {REMOVED}/ ({error.strerror}): move it.") from error
        self.removed.append(path.name)

    def publish(self, absent: Sequence[str] = ()) -> None:
        """Write `grades.csv`; `absent` are students without a hand-in."""
        _write(self.out / GRADES_FILE, self.table.text(absent).encode("utf-8-sig"))

    def summary(self, found: HandIns, graded: int, reused: int, seconds: float) -> Summary:
        """What the class came to; as long as anybody who handed in nothing has no points, these are told of."""
        nothing, entered = by_student(self.empty or self.zeroed), not self.empty and bool(self.zeroed)
        return self.table.summary(found, graded, reused, seconds, nothing, self.removed, entered=entered)

    def _stored(self, name: str) -> dict[str, Any]:
        """The record of a student.

        Raises:
            OSError, ValueError, KeyError, TypeError: there is none that can be read.
        """
        record: dict[str, Any] = json.loads(result_file(self.out, name).read_bytes())
        if record["schema"] != SCHEMA:
            raise ValueError(record["schema"])
        return record


def by_student(empty: Sequence[Submission]) -> list[Nothing]:
    """The hand-ins that hold nothing that could be graded, by student."""
    return sorted((Nothing(printable(one.name), one.nothing) for one in empty), key=lambda one: one.student)


def made_from(digest: str, submission: Submission) -> str:
    """A hash of everything that a result depends on, but for the seed.

    Args:
        digest: see `course_digest`.
    """
    files = [*sorted(submission.files.items()), *sorted(submission.helpers.items())]
    return hashlib.sha256(repr((digest, files, submission.notes)).encode()).hexdigest()


def result_file(out: Path, name: str) -> Path:
    """`<student>.json`; a name that is none for a file is changed, and kept apart from others by a hash."""
    encoded = os.fsencode(name)
    if len(encoded) > LONGEST_NAME or not name.strip(".") or NO_FILE_NAME.search(name):
        begin = NO_FILE_NAME.sub("_", encoded[:LONGEST_NAME].decode("utf-8", "ignore"))
        name = f"{begin}-{hashlib.sha256(encoded).hexdigest()[:12]}"
    return out / f"{name}.json"


@contextmanager
def open_results_folder(names: ExerciseNames, out: Path, *, isolated: bool) -> Iterator[ResultsFolder]:
    """Open or make a results folder, for this run alone.

    Args:
        names: the course, and what of it is graded.
        isolated: learner code is isolated in this run; what another run let loose is not taken over.

    Raises:
        UsageError: it cannot be written, or another run is writing to it.
    """
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(out))
            tempfile.TemporaryFile(dir=out).close()
            remove_unfinished(out)
        except OSError as error:
            raise UsageError(f"Results cannot be written to {out}: name another folder with --out.") from error
        yield ResultsFolder(names, out, course_digest(names, isolated), GradesTable(names))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, where that can be done; the lock of a run that is killed goes with it."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                says = f"Another run is grading into {folder}: wait for it, or name another folder with --out."
                raise UsageError(says) from None
        yield
    finally:
        os.close(handle)


def course_digest(names: ExerciseNames, isolated: bool) -> str:
    """A hash of the course as it grades: configuration, solutions/, what is graded, the grader's version, isolation."""
    course, kinds = names.course, {".py", ".yaml", ".json"}
    paths = sorted(p for p in course.solutions.rglob("*") if p.suffix in kinds and "__pycache__" not in p.parts)
    sources = [(path.relative_to(course.solutions).as_posix(), path.read_bytes()) for path in paths]
    known = (__version__, isolated, course.config.model_dump_json(), [one.id for one in names.wanted], sources)
    return hashlib.sha256(repr(known).encode()).hexdigest()


def _is_record(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(OURS)) == OURS


def _write(path: Path, data: bytes) -> None:
    """Write a whole file or none.

    Raises:
        InfrastructureError: it cannot be written.
    """
    try:
        write_atomically(path, data)
    except OSError as error:
        says = f"{path} cannot be written ({error.strerror}): close it or make room, and run the same command again."
        raise InfrastructureError(says) from error
