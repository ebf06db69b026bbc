"""The grades that a results folder held before a run, and the changes of this run, which `changes.csv` lists."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from grader.results.points import total
from grader.results.records import StudentResults
from grader.safe_text import no_formula, plain

from .graded_exercise import csv_text, number

HEADING = ("student", "exercise", "before", "after", "why")
GONE, NEW = "no longer in the class", "no record before"
COURSE, EXERCISES = "the course or handgrad changed", "the assignment's exercises changed"
SUBMISSION, SEED = "the submission or the time limit changed", "another seed"
UNGRADED, ENTERED, PERSON = "could not be graded before", "0 was entered", "an adjustment or late work"


class StoredGrades(NamedTuple):
    """Hold the grades of one student's record, and what tells whether another record may differ from it.

    Args:
        student: the name of the student.
        course_digest: see `StudentResults`.
        made_from: see `StudentResults`.
        seed: see `StudentResults`.
        score: the points that count; `None` if there is no score.
        points: the points of each exercise, with adjustments, that are not 0; `None` for those without.
        exercises: a hash of the ids of all exercises.
    """

    student: str
    course_digest: str | None
    made_from: str | None
    seed: int | None
    score: float | None
    points: Mapping[str, float | None]
    exercises: str = ""

    @classmethod
    def of(cls, results: StudentResults) -> StoredGrades:
        """Return the score of a student's results, and the points of each exercise with its adjustments."""
        ungraded = {exercise.id for exercise in results.ungraded}
        points: dict[str, float | None] = {e.id: e.score for e in results.exercises if e.score or e.id in ungraded}
        points |= dict.fromkeys(ungraded)
        for adjustment in results.adjustments:
            if adjustment.exercise:
                points[adjustment.exercise] = total((points.get(adjustment.exercise) or 0.0, adjustment.points))
        return cls(
            results.student, results.course_digest, results.made_from, results.seed, results.score, points,
            _hash_of_ids(tuple(exercise.id for exercise in results.exercises)),
        )  # fmt: skip

    def why(self, after: StoredGrades) -> str:
        """Return a clause on why these grades differ from those that the same student has afterwards, `after`."""
        if self.course_digest != after.course_digest:
            return COURSE
        if self.exercises != after.exercises:
            return EXERCISES
        if self.made_from != after.made_from:
            return SUBMISSION
        if None in self.points.values():
            return UNGRADED
        if self.score is None and after.score == 0:
            return ENTERED
        return SEED if self.seed != after.seed else PERSON


class GradeChange(NamedTuple):
    """Hold one line of `changes.csv`.

    Args:
        student: the name of the student.
        exercise: the id of the exercise; empty for the total.
        before: the points before the run; `None` if there were none.
        after: the points now; `None` if there are none.
        why: the reason, as a clause.
    """

    student: str
    exercise: str
    before: float | None
    after: float | None
    why: str


@dataclass(frozen=True)
class GradeComparison:
    """Collect the changes of the grades while a class is graded.

    Args:
        before: the grades before the run, by the name of the record's file; none before the first run of a class.
        changes: the changes of the students who were compared.
        compared: the names of the files that were compared.
    """

    before: Mapping[str, StoredGrades]
    changes: dict[str, list[GradeChange]] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)

    def compare(self, file: str, results: StudentResults) -> None:
        """Add to `self.changes` how a student's grades differ from those before the run.

        Nothing is added where they do not differ, or nobody had grades before. A later call replaces it.

        Args:
            file: the name of the record's file.
            results: the student's results now.
        """
        self.compared.add(file)
        if not self.before:
            return
        earlier, after = self.before.get(file), StoredGrades.of(results)
        if earlier is None:
            self.changes[file] = [GradeChange(after.student, "", None, after.score, NEW)]
        elif (earlier.score, earlier.points) != (after.score, after.points):
            self.changes[file] = list(_changes(earlier, after, [exercise.id for exercise in results.exercises]))
        else:
            self.changes.pop(file, None)

    @property
    def lines(self) -> list[GradeChange]:
        """Return all changes, with those of students who are no longer in the class, sorted by student."""
        gone = [
            GradeChange(grades.student, "", grades.score, None, GONE)
            for file, grades in self.before.items()
            if file not in self.compared
        ]
        return sorted([*gone, *(line for lines in self.changes.values() for line in lines)], key=lambda line: line[0])

    @property
    def gained(self) -> int:
        """Return how many students have more points than before, or points for the first time."""
        return sum(_gain(line) > 0 for line in self._totals())

    @property
    def lost(self) -> int:
        """Return how many students have fewer points than before, or none any more."""
        return sum(_gain(line) < 0 for line in self._totals())

    def text(self, earlier: str | None = None) -> str:
        """Return the text of `changes.csv`: for each change student, exercise, points before and after, and reason.

        Args:
            earlier: the text of the last run of the whole class, if some students alone were graded, whose changes
                follow it; `None` after a run of the whole class.
        """
        chosen = [line for file in sorted(self.changes) for line in self.changes[file]]
        rows = [
            [no_formula(plain(line.student)), no_formula(line.exercise), _points(line.before), _points(line.after),
             line.why]
            for line in (self.lines if earlier is None else chosen)
        ]  # fmt: skip
        text = "".join(f"{csv_text(row)}\r\n" for row in rows)
        return (earlier or f"{csv_text(HEADING)}\r\n") + text

    def _totals(self) -> Iterator[GradeChange]:
        """Yield the changes of totals of students who were in the class before."""
        yield from (line for lines in self.changes.values() for line in lines if not line.exercise and line.why != NEW)


@lru_cache(16)  # all students of a class have the same exercises
def _hash_of_ids(ids: tuple[str, ...]) -> str:
    """Return a short hash of the ids of exercises."""
    return hashlib.sha256(repr(ids).encode()).hexdigest()[:16]


def _changes(before: StoredGrades, after: StoredGrades, exercises: Sequence[str]) -> Iterator[GradeChange]:
    """Yield the changes between the grades of a student before the run and now.

    The changes of exercises come first, in teaching order, then that of the total, if it changed.
    """
    why = before.why(after)
    for exercise in dict.fromkeys((*exercises, *before.points)):
        old, new = before.points.get(exercise, 0.0), after.points.get(exercise, 0.0)
        if old != new:
            yield GradeChange(after.student, exercise, old, new, why)
    if before.score != after.score:
        yield GradeChange(after.student, "", before.score, after.score, why)


def _gain(line: GradeChange) -> float:
    """Return the points that a student gained; no score counts as no points, so that a zero is no gain."""
    return (line.after or 0.0) - (line.before or 0.0)


def _points(points: float | None) -> str:
    """Return points as a cell, which is blank if there are none."""
    return "" if points is None else number(points)


def grades_to_json(grades: Mapping[str, StoredGrades], files: Iterable[str] = ()) -> bytes:
    """Return the grades before a run as JSON, for a run that continues it if it is stopped.

    Args:
        grades: the grades, by the name of a student's record.
        files: the names of the records that the run makes; those without grades before are `null` in the JSON.
    """
    return json.dumps({**dict.fromkeys(files), **grades}, ensure_ascii=True).encode()


def grades_from_json(content: bytes) -> dict[str, StoredGrades]:
    """Return grades by file from their JSON.

    Raises:
        ValueError, TypeError, AttributeError: it is no such JSON.
    """
    stored: dict[str, list[Any] | None] = json.loads(content)
    return {file: StoredGrades(*grades) for file, grades in stored.items() if grades is not None}
