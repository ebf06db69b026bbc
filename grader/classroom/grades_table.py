"""What a class came to: one row for each student, the lines of `grades.csv`, and a summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from grader.results.points import total
from grader.safe_text import no_formula, plain

from .class_folder import HandIns
from .exercise_names import ExerciseNames
from .graded_exercise import csv_text, number

MOST_NOTED = 20
UNBLEMISHED = ("passed", "todo")


@dataclass(frozen=True)
class Mistake:
    """In how many submissions an exercise met a code."""

    code: str
    students: int


@dataclass(frozen=True)
class Failure:
    """Describe why an exercise could not be graded, through no fault of the student; all exercises if none is named."""

    student: str
    exercise: str
    message: str


@dataclass(frozen=True)
class Nothing:
    """A hand-in that holds nothing that could be graded, and why."""

    student: str
    why: str


@dataclass(frozen=True)
class UnitTotal:
    """What a unit came to: how many handed in something of it, and their mean."""

    students: int
    mean_score: float
    max_score: float


@dataclass(frozen=True)
class Summary:
    """What a batch came to.

    Args:
        students: who has a result.
        graded: submissions graded now.
        reused: submissions whose stored result was made from the same content.
        mean_score: points, over all students who have a result.
        max_score: points of what was graded.
        mistakes: the codes of each exercise, the most frequent first; `todo` is no mistake.
        strays: what lies beside the hand-ins, and was ignored.
        seconds: wall time.
        kind: what the hand-ins were taken for.
        units: by id, those that anybody handed in something of.
        nothing: hand-ins that hold nothing that could be graded.
        entered: those have 0 points now; otherwise they have none.
        noted: the first notes on what was handed in, by student.
        with_notes: how many students have some.
        absent: who is on the roster and handed in nothing.
        unlisted: who handed in and is not on the roster.
        removed: files of results whose students are no longer there; they were put away.
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
    kind: str = ""
    units: Mapping[str, UnitTotal] = field(default_factory=dict)
    nothing: tuple[Nothing, ...] = ()
    entered: bool = False
    noted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_notes: int = 0
    absent: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class _Row(NamedTuple):
    """What is kept of a submission while the class is graded: its points, if any, and its line of `grades.csv`."""

    score: float | None
    line: str


@dataclass(frozen=True)
class GradesTable:
    """Collect the rows of `grades.csv` and the counts of a class while it is graded.

    Args:
        names: the course, and which of its exercises are graded.
        rows: the rows by the student's key.
        mistakes: how many students made each mistake, by exercise and code.
        earned: the points of each unit, one for each student who handed in something of it.
        noted: the notes on the first hand-ins that have some, by student.
        counts: how many hand-ins have notes.
    """

    names: ExerciseNames
    rows: dict[str, _Row] = field(default_factory=dict)
    mistakes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    earned: dict[str, list[float]] = field(default_factory=dict)
    noted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, name: str, record: Mapping[str, Any]) -> None:
        """Add the row of a student and count the mistakes, from the record alone, whether it is new or stored."""
        mistakes, failures, units = _mistakes(record), failures_in(record), _units(record)
        notes = tuple(map(str, record["notes"]))
        row = _Row(float(record["score"]), _line(self._cells(record, mistakes, units)))
        self.rows[name] = row
        self.mistakes.update({(exercise, code) for exercise, _, code in mistakes})
        self.failures.extend(failures)
        for unit, score in units.items():
            self.earned.setdefault(unit, []).append(score)
        if notes:
            self.counts["noted"] += 1
            if len(self.noted) < MOST_NOTED:
                self.noted[str(record["student"])] = notes

    def _cells(
        self, record: Mapping[str, Any], mistakes: list[tuple[str, str, str]], units: Mapping[str, float]
    ) -> list[str]:
        points = {each["id"]: None if each["status"] == "error" else each["score"] for each in record["exercises"]}
        listed = "; ".join(f"{exercise} {answer}: {code}" for exercise, answer, code in mistakes)
        return [
            no_formula(plain(record["student"])), _number(record["score"]), _number(self.max_score),
            *(_number(units.get(unit, 0)) for unit in self.names.points),
            *(_number(points.get(exercise.id, 0)) for exercise in self.names.wanted),
            no_formula(listed), no_formula(plain("; ".join(record["notes"]))),
        ]  # fmt: skip

    def text(self, absent: Sequence[str]) -> str:
        """The whole of `grades.csv`.

        Args:
            absent: students without a hand-in; they have no points.
        """
        ids = [exercise.id for exercise in self.names.wanted]
        head = _line(["student", "score", "max_score", *self.names.points, *ids, "mistakes", "notes"])
        lines = [self.rows[name].line for name in sorted(self.rows)]
        return "".join([head, *lines, *(self._blank(name, "nothing was handed in") for name in absent)])

    def leave_blank(self, name: str, student: str, note: str) -> None:
        """Add a row without points, not even 0, for a student."""
        self.rows[name] = _Row(None, self._blank(student, note))

    def add_failure(self, name: str, student: str, why: str) -> None:
        """Add a row without points for a student without a record, through no fault of the student.

        Args:
            name: the student's key.
            student: the student's name in the table.
            why: the reason, a sentence.
        """
        self.leave_blank(name, student, f"not graded: {why}")
        self.failures.append(Failure(student, "", why))

    def summary(
        self,
        found: HandIns,
        graded: int,
        reused: int,
        seconds: float,
        nothing: Sequence[Nothing],
        removed: Sequence[str],
        *,
        entered: bool,
    ) -> Summary:
        """What the rows come to."""
        scores = [row.score for row in self.rows.values() if row.score is not None]
        return Summary(
            students=len(scores),
            graded=graded,
            reused=reused,
            mean_score=math.fsum(scores) / len(scores) if scores else 0.0,
            max_score=self.max_score,
            mistakes={exercise.id: self._most_frequent(exercise.id) for exercise in self.names.wanted},
            errors=tuple(sorted(self.failures, key=lambda failure: failure.student)),
            strays=found.strays,
            seconds=seconds,
            kind=found.kind,
            units={
                unit: UnitTotal(len(self.earned[unit]), math.fsum(self.earned[unit]) / len(self.earned[unit]), points)
                for unit, points in self.names.points.items()
                if unit in self.earned
            },
            nothing=tuple(nothing),
            entered=entered,
            noted=dict(sorted(self.noted.items())),
            with_notes=self.counts["noted"],
            absent=found.absent,
            unlisted=found.unlisted,
            removed=tuple(removed),
        )

    def _blank(self, student: str, note: str) -> str:
        """The line of somebody who has no points, not even 0."""
        blanks = [""] * (len(self.names.points) + len(self.names.wanted) + 1)
        return _line([no_formula(plain(student)), "", _number(self.max_score), *blanks, no_formula(plain(note))])

    @cached_property
    def max_score(self) -> float:
        """Return the points of all exercises that are graded."""
        return total(exercise.points for exercise in self.names.wanted)

    def _most_frequent(self, exercise: str) -> tuple[Mistake, ...]:
        found = [Mistake(code, count) for (name, code), count in self.mistakes.items() if name == exercise]
        return tuple(sorted(found, key=lambda mistake: (-mistake.students, mistake.code)))


def _units(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the points that a record has in each unit of which something was handed in."""
    units: dict[str, list[float]] = {}
    for exercise in record["exercises"]:
        units.setdefault(exercise["unit"], []).append(exercise["score"])
    return {unit: total(scores) for unit, scores in units.items()}


def _mistakes(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Exercise, answer and code of each mistake; `todo` is none."""
    return [
        (exercise["id"], answer["name"], answer["code"])
        for exercise in record["exercises"]
        if exercise["status"] not in UNBLEMISHED
        for answer in exercise["answers"]
        if answer["status"] == "failed"
    ]


def failures_in(record: Mapping[str, Any]) -> tuple[Failure, ...]:
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
    return f"{csv_text(cells)}\r\n"


def _number(points: float | None) -> str:
    return "error" if points is None else number(points)
