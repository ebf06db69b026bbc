"""The results folder of a class: one record per student, one CSV, and what each record was made from."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from . import __version__
from .course import Course
from .errors import InfrastructureError, UsageError
from .files import write_atomically
from .results import SCHEMA, CourseResult, dumps, to_json
from .submissions import Submission

STATE_SCHEMA = "handgrad/batch-state@1"
STATE_FILE, GRADES_FILE = ".state.json", "grades.csv"
LONGEST_NAME = 200
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


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


@dataclass(frozen=True)
class Landed:
    """A finished result, what it was made from, and with which seed."""

    submission: Submission
    result: CourseResult
    seed: int


@dataclass(frozen=True)
class _Made:
    """What a stored result was made from."""

    content: str
    seed: int


@dataclass(frozen=True)
class _Row:
    """One line of the gradebook.

    Args:
        points: by exercise id; `None` where grading failed.
        codes: exercise id, answer and code of each mistake.
    """

    student: str
    score: float
    points: Mapping[str, float | None]
    codes: tuple[tuple[str, str, str], ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class Gradebook:
    """The results folder: one file per student, `grades.csv`, and what each result was made from."""

    course: Course
    out: Path
    digest: str
    made: dict[str, _Made]
    rows: dict[str, _Row] = field(default_factory=dict)

    @classmethod
    def open(cls, course: Course, out: Path, *, isolated: bool = False) -> Gradebook:
        """Open or make a results folder.

        Args:
            isolated: learner code is isolated in this run; what another run let loose is not taken over.

        Raises:
            UsageError: it cannot be written.
        """
        try:
            out.mkdir(parents=True, exist_ok=True)
            book = cls(course, out, _course_digest(course, isolated), _read_state(out / STATE_FILE))
            book._write_state()
        except (OSError, InfrastructureError) as error:
            raise UsageError(f"Results cannot be written to {out}: name another folder with --out.") from error
        return book

    def reuse(self, submission: Submission, seed: int | None) -> bool:
        """Take over the stored result, if it was made from the same content, and from this seed if there is one."""
        made = self.made.get(submission.name)
        if made is None or made.content != self._fingerprint(submission) or seed not in (None, made.seed):
            return False
        row = _stored_row(self.out / _result_name(submission.name))
        if row is None or row.failures:
            return False
        self.rows[submission.name] = row
        return True

    def enter(self, landed: Landed) -> None:
        """Write one result."""
        name = landed.submission.name
        _write(self.out / _result_name(name), dumps(landed.result).encode())
        self.made[name] = _Made(self._fingerprint(landed.submission), landed.seed)
        self.rows[name] = _row(to_json(landed.result))

    def publish(self) -> None:
        """Write the gradebook, and what its results were made from."""
        _write(self.out / GRADES_FILE, self._csv().encode("utf-8-sig"))
        self._write_state()

    def summary(self, graded: int, strays: tuple[str, ...], seconds: float) -> Summary:
        """What the rows come to."""
        rows = self._sorted_rows()
        return Summary(
            students=len(rows),
            graded=graded,
            reused=len(rows) - graded,
            mean_score=sum(row.score for row in rows) / len(rows),
            max_score=_most_points(self.course),
            mistakes={exercise.id: _most_frequent(exercise.id, rows) for exercise in self.course.exercises},
            errors=tuple(chain.from_iterable(row.failures for row in rows)),
            strays=strays,
            seconds=seconds,
        )

    def _fingerprint(self, submission: Submission) -> str:
        """A hash of everything that a result depends on, but for the seed."""
        files = sorted(submission.files.items())
        return hashlib.sha256(repr((self.digest, files, submission.notes)).encode()).hexdigest()

    def _sorted_rows(self) -> list[_Row]:
        return [self.rows[name] for name in sorted(self.rows)]

    def _csv(self) -> str:
        ids = [exercise.id for exercise in self.course.exercises]
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(["student", "score", "max_score", *ids, "mistakes"])
        most = _number(_most_points(self.course))
        for row in self._sorted_rows():
            points = [_number(row.points.get(name)) for name in ids]
            mistakes = "; ".join(f"{exercise} {answer}: {code}" for exercise, answer, code in row.codes)
            writer.writerow([_as_text(row.student), _number(row.score), most, *points, _as_text(mistakes)])
        return text.getvalue()

    def _write_state(self) -> None:
        students = {name: {"content": made.content, "seed": made.seed} for name, made in sorted(self.made.items())}
        _write(self.out / STATE_FILE, json.dumps({"schema": STATE_SCHEMA, "students": students}).encode())


def _course_digest(course: Course, isolated: bool) -> str:
    """A hash of the course as it grades: its configuration, specs and solutions, the grader's version, isolation."""
    paths = sorted(path for path in course.solutions.rglob("*.py") if "__pycache__" not in path.parts)
    sources = [(path.relative_to(course.solutions).as_posix(), path.read_bytes()) for path in paths]
    return hashlib.sha256(repr((__version__, isolated, course.config.model_dump_json(), sources)).encode()).hexdigest()


def _read_state(path: Path) -> dict[str, _Made]:
    """What is known of stored results; a file that cannot be understood is set aside."""
    try:
        state = json.loads(path.read_bytes())
        if state["schema"] != STATE_SCHEMA:
            raise ValueError("another version")
        return {name: _Made(str(made["content"]), int(made["seed"])) for name, made in state["students"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        os.replace(path, path.with_name(f"{path.name}.broken"))
        return {}


def _result_name(name: str) -> str:
    """`<student>.json`; a name too long for that is cut, and kept apart from others by a hash."""
    encoded = os.fsencode(name)
    if len(encoded) <= LONGEST_NAME:
        return f"{name}.json"
    return f"{encoded[:LONGEST_NAME].decode('utf-8', 'ignore')}-{hashlib.sha256(encoded).hexdigest()[:12]}.json"


def _stored_row(path: Path) -> _Row | None:
    try:
        record = json.loads(path.read_bytes())
        return _row(record) if record["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _row(record: Mapping[str, Any]) -> _Row:
    """A line of the gradebook, from the record alone, so that a stored result and a new one give the same."""
    student, exercises = record["student"], record["exercises"]
    answers = [(exercise["id"], answer) for exercise in exercises for answer in exercise["answers"]]
    failures = {name: answer["message"] for name, answer in answers if answer["status"] == "error"}
    return _Row(
        student,
        float(record["score"]),
        {exercise["id"]: None if exercise["status"] == "error" else exercise["score"] for exercise in exercises},
        tuple((name, answer["name"], answer["code"]) for name, answer in answers if answer["status"] == "failed"),
        tuple(Failure(student, name, message) for name, message in failures.items()),
    )


def _most_frequent(exercise: str, rows: Sequence[_Row]) -> tuple[Mistake, ...]:
    counts = Counter(code for row in rows for code in {code for name, _, code in row.codes if name == exercise})
    return tuple(Mistake(code, count) for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _most_points(course: Course) -> float:
    return sum(exercise.points for exercise in course.exercises)


def _number(points: float | None) -> str:
    return "error" if points is None else f"{points:.10g}"


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


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
