"""The results folder of a class: one record per student, with a hash of what it was made from, and one CSV file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from grader import __version__
from grader.atomic_files import remove_unfinished, write_atomically
from grader.course import Course
from grader.errors import InfrastructureError, UsageError
from grader.results import SCHEMA, CourseResult, dumps
from grader.safe_text import no_formula, plain

from .submissions import Submission, read_submission

GRADES_FILE = "grades.csv"
LONGEST_NAME = 200
UNBLEMISHED = ("passed", "todo")


@dataclass(frozen=True)
class Mistake:
    """In how many submissions an exercise met a code."""

    code: str
    students: int


@dataclass(frozen=True)
class Failure:
    """An exercise that could not be graded, through no fault of the student."""

    student: str
    exercise: str
    message: str


@dataclass(frozen=True)
class Summary:
    """What a batch came to.

    Args:
        graded: submissions graded now.
        reused: submissions whose stored result was made from the same content.
        mean_score: points, over all students.
        mistakes: the codes of each exercise, the most frequent first; `todo` is no mistake.
        strays: what lies beside the student folders, and was ignored.
        seconds: wall time.
    """

    students: int
    graded: int
    reused: int
    mean_score: float
    max_score: float
    mistakes: Mapping[str, tuple[Mistake, ...]]
    errors: tuple[Failure, ...]
    strays: tuple[str, ...]
    seconds: float


class _Row(NamedTuple):
    """What is kept of a submission while the class is graded: its points, and its line of `grades.csv`."""

    score: float
    line: str


@dataclass(frozen=True)
class ResultsFolder:
    """A results folder while a class is graded into it; no record is held longer than it takes to enter it.

    Args:
        digest: a hash of the course as it grades.
        rows: by name of the student's folder.
        mistakes: how many students met a code in an exercise.
    """

    course: Course
    out: Path
    digest: str
    rows: dict[str, _Row] = field(default_factory=dict)
    mistakes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def made_from(self, submission: Submission) -> str:
        """A hash of everything that a result depends on, but for the seed."""
        files = [*sorted(submission.files.items()), *sorted(submission.helpers.items())]
        return hashlib.sha256(repr((self.digest, files, submission.notes)).encode()).hexdigest()

    def reuse(self, folder: Path, seed: int | None) -> bool:
        """Take over the stored result, if it was made from the same content, and from this seed if there is one."""
        try:
            record = json.loads(result_file(self.out, folder.name).read_bytes())
            if record["schema"] != SCHEMA or seed not in (None, record["seed"]) or _failures(record):
                return False
            if record["made_from"] != self.made_from(read_submission(self.course, folder)):
                return False
            self._count(folder.name, record)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False  # none, or none that can be read: it is made again
        return True

    def write(self, name: str, result: CourseResult) -> None:
        """Write the result of one student's folder."""
        _write(result_file(self.out, name), dumps(result).encode())
        self._count(name, result.record)

    def publish(self) -> None:
        """Write `grades.csv`."""
        ids = [exercise.id for exercise in self.course.exercises]
        lines = [self.rows[name].line for name in sorted(self.rows)]
        text = "".join([_line(["student", "score", "max_score", *ids, "mistakes"]), *lines])
        _write(self.out / GRADES_FILE, text.encode("utf-8-sig"))

    def summary(self, graded: int, strays: tuple[str, ...], seconds: float) -> Summary:
        """What the rows come to."""
        return Summary(
            students=len(self.rows),
            graded=graded,
            reused=len(self.rows) - graded,
            mean_score=math.fsum(row.score for row in self.rows.values()) / len(self.rows),
            max_score=self.max_score,
            mistakes={exercise.id: self._most_frequent(exercise.id) for exercise in self.course.exercises},
            errors=tuple(sorted(self.failures, key=lambda failure: failure.student)),
            strays=strays,
            seconds=seconds,
        )

    def _count(self, name: str, record: Mapping[str, Any]) -> None:
        """Keep what the CSV and the summary need, from the record alone: a stored one and a new one give the same."""
        mistakes, failures = _mistakes(record), _failures(record)
        row = _Row(float(record["score"]), _line(self._cells(record, mistakes)))
        self.rows[name] = row
        self.mistakes.update({(exercise, code) for exercise, _, code in mistakes})
        self.failures.extend(failures)

    def _cells(self, record: Mapping[str, Any], mistakes: list[tuple[str, str, str]]) -> list[str]:
        points = {each["id"]: None if each["status"] == "error" else each["score"] for each in record["exercises"]}
        listed = "; ".join(f"{exercise} {answer}: {code}" for exercise, answer, code in mistakes)
        return [
            no_formula(plain(record["student"])), _number(record["score"]), _number(self.max_score),
            *(_number(points.get(exercise.id)) for exercise in self.course.exercises), no_formula(listed),
        ]  # fmt: skip

    @cached_property
    def max_score(self) -> float:
        """The points of the whole course."""
        return sum(exercise.points for exercise in self.course.exercises)

    def _most_frequent(self, exercise: str) -> tuple[Mistake, ...]:
        found = [Mistake(code, count) for (name, code), count in self.mistakes.items() if name == exercise]
        return tuple(sorted(found, key=lambda mistake: (-mistake.students, mistake.code)))


def result_file(out: Path, name: str) -> Path:
    """`<student>.json`; a name too long for that is cut, and kept apart from others by a hash."""
    encoded = os.fsencode(name)
    if len(encoded) > LONGEST_NAME:
        name = f"{encoded[:LONGEST_NAME].decode('utf-8', 'ignore')}-{hashlib.sha256(encoded).hexdigest()[:12]}"
    return out / f"{name}.json"


@contextmanager
def open_results_folder(course: Course, out: Path, *, isolated: bool) -> Iterator[ResultsFolder]:
    """Open or make a results folder, for this run alone.

    Args:
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
        yield ResultsFolder(course, out, _course_digest(course, isolated))


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


def _course_digest(course: Course, isolated: bool) -> str:
    """A hash of the course as it grades: its configuration, its solutions/, the grader's version, isolation."""
    kinds = {".py", ".yaml", ".json"}
    paths = sorted(p for p in course.solutions.rglob("*") if p.suffix in kinds and "__pycache__" not in p.parts)
    sources = [(path.relative_to(course.solutions).as_posix(), path.read_bytes()) for path in paths]
    return hashlib.sha256(repr((__version__, isolated, course.config.model_dump_json(), sources)).encode()).hexdigest()


def _mistakes(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Exercise, answer and code of each mistake; `todo` is none."""
    return [
        (exercise["id"], answer["name"], answer["code"])
        for exercise in record["exercises"]
        if exercise["status"] not in UNBLEMISHED
        for answer in exercise["answers"]
        if answer["status"] == "failed"
    ]


def _failures(record: Mapping[str, Any]) -> tuple[Failure, ...]:
    """One for each exercise that could not be graded."""
    messages = {
        exercise["id"]: answer["message"]
        for exercise in record["exercises"]
        if exercise["status"] == "error"
        for answer in exercise["answers"]
        if answer["status"] == "error"
    }
    return tuple(Failure(record["student"], exercise, message) for exercise, message in messages.items())


def _line(cells: list[str]) -> str:
    """One line of CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _number(points: float | None) -> str:
    return "error" if points is None else f"{points:.10g}"


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
