"""The grades of a class: one row for each student, the lines of `grades.csv`, and a summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from grader.results.codes import UNNAMED
from grader.results.points import total
from grader.results.records import BY_PERSON, ExerciseResult, StudentResults
from grader.safe_text import no_formula, plain

from .class_folder import ClassFolder
from .exercise_names import ExerciseNames
from .graded_exercise import csv_text, number

MOST_NOTED = 20  # students whose notes a summary holds
WITHOUT_MISTAKES = ("passed", "todo")


@dataclass(frozen=True)
class MistakeCount:
    """Count the students whose answers to one exercise have a mistake of this code."""

    code: str
    students: int


@dataclass(frozen=True)
class Failure:
    """Describe why an exercise, or all if `exercise` is empty, could not be graded through no fault of the student."""

    student: str
    exercise: str
    message: str


@dataclass(frozen=True)
class NothingToGrade:
    """Describe why the submission of a student holds nothing that could be graded.

    Args:
        student: the name of the student.
        why: the reason, as a clause.
        earlier: the titles of older submissions of the student, which do not count.
    """

    student: str
    why: str
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnitTotal:
    """Hold the points of a unit.

    Args:
        students: how many attempted something of it.
        mean_score: the mean of their points.
        max_score: the points of the exercises of the unit that are graded.
    """

    students: int
    mean_score: float
    max_score: float


@dataclass(frozen=True)
class ClassSummary:
    """Hold the counts of a class after one run.

    Args:
        students: how many are in the table, without the entries in `unclaimed`.
        graded: how many submissions were graded in this run.
        reused: how many submissions kept a stored result, which was made from the same content.
        mean_score: the mean of the points of all students who have a score; `None` if nobody has one.
        max_score: the points of the exercises that are graded.
        mistakes: the codes in each exercise, by its id, the most frequent first; `todo` is no mistake.
        errors: what could not be graded.
        strays: the names of files and folders beside the submissions, which were ignored.
        seconds: wall time of the run.
        kind: the layout of the class's folder, such as "a download from Moodle".
        units: the points of the units, by id, of which any student attempted something.
        nothing: the students of whom nothing could be graded.
        unclaimed: the same for entries that do not fit the layout of the class, and are of no known student.
        entered: whether those have 0 points now; otherwise they have none.
        noted: the notes on the first submissions that have some, by student.
        with_notes: how many students have notes.
        absent: the students on the roster who submitted nothing, if the whole class is graded.
        unlisted: the students who submitted something and are not on the roster.
        removed: the names of result files that were put away, because their students are no longer there.
        scored: how many students have a score.
        course_changed: whether everybody was graded again because the course or handgrad had changed.
        seed_changed: whether records were graded again because they had another seed.
        gained: how many students have more points than before the run.
        lost: how many students have fewer points than before the run.
        late: how many students lost points for lateness.
        untouched: the students whose files hold only stubs, blank answer sheets or no function to grade, and who have 0
            points for them.
        above: the students whom an adjustment gives more points than there are.
        renamed: the names of students in the last run, and the keys that they have now where these differ.
        named_by: the heading of the roster's column that names the students; empty without a roster.
        undated: the keys of the students with a due date whose submissions were graded and have no known time.
        undated_late: the keys of those students, among the undated ones, whom Canvas calls late.
        is_whole: whether the whole class was graded, and not some students alone.
        rescaled: the lines of `adjustments.csv` that counted before, when their exercise had another maximum.
    """

    students: int
    graded: int
    reused: int
    mean_score: float | None
    max_score: float
    mistakes: Mapping[str, tuple[MistakeCount, ...]]
    errors: tuple[Failure, ...]
    strays: tuple[str, ...]
    seconds: float
    kind: str = ""
    units: Mapping[str, UnitTotal] = field(default_factory=dict)
    nothing: tuple[NothingToGrade, ...] = ()
    unclaimed: tuple[NothingToGrade, ...] = ()
    entered: bool = False
    noted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_notes: int = 0
    absent: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    scored: int = 0
    course_changed: bool = False
    seed_changed: bool = False
    gained: int = 0
    lost: int = 0
    late: int = 0
    untouched: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    named_by: str = ""
    undated: tuple[str, ...] = ()
    undated_late: tuple[str, ...] = ()
    is_whole: bool = True
    rescaled: tuple[str, ...] = ()


class _Row(NamedTuple):
    """Hold the points of a student, if there are any, and the student's line of `grades.csv`."""

    score: float | None
    line: str


@dataclass(frozen=True)
class GradesTable:
    """Collect the rows of `grades.csv` and the counts of a class while it is graded.

    Args:
        names: the course, and which of its exercises are graded.
        rows: the rows by the student's key.
        mistakes: how many students made each mistake, by exercise and code.
        failures: what could not be graded.
        unit_scores: the points in each unit of every student who attempted something of it, by the unit's id.
        noted: the notes on the first submissions that have some, by student.
        counts: under `noted`, how many submissions have notes; under `late`, how many lost points for lateness.
        nothing: the students who have no score because nothing could be graded, by key.
        untouched: the students whose files hold only stubs, blank answer sheets or no function to grade, by key.
        graded: the keys of the students of whom something was graded.
        above: the students whose total is above the points of all exercises by an adjustment.
    """

    names: ExerciseNames
    rows: dict[str, _Row] = field(default_factory=dict)
    mistakes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    unit_scores: dict[str, list[float]] = field(default_factory=dict)
    noted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    nothing: dict[str, NothingToGrade] = field(default_factory=dict)
    untouched: dict[str, str] = field(default_factory=dict)
    graded: set[str] = field(default_factory=set)
    above: list[str] = field(default_factory=list)

    def count(self, name: str, results: StudentResults) -> None:
        """Add the row of a student, and count mistakes, failures, points by unit, lateness and notes.

        A student who has no score because nothing could be graded gets a row, and is entered in `nothing`, only.

        Args:
            name: the student's key.
            results: the student's results, new or stored.
        """
        mistakes, notes = _mistakes(results), results.remarks
        row = _Row(results.score, _line(self._cells(results, mistakes)))
        self.rows[name] = row
        self.nothing.pop(name, None)
        if results.seed is not None:
            self.graded.add(name)
        if results.why_no_score and not results.ungraded:
            self.nothing[name] = NothingToGrade(results.student, results.why_no_score)
            return
        if results.late is not None and results.late.points < 0:
            self.counts["late"] += 1
        if results.score == 0 and results.seed is not None and all(map(_is_unanswered, results.exercises)):
            self.untouched[name] = results.student
        if results.adjustments and (results.raw_score or 0.0) > results.max_score:
            self.above.append(results.student)
        self.mistakes.update({(exercise, code) for exercise, _, code in mistakes})
        self.failures.extend(Failure(results.student, exercise.id, exercise.failure) for exercise in results.ungraded)
        begun = {exercise.unit for exercise in results.exercises if exercise.status != "todo"}
        for unit in results.units:
            if unit["id"] in begun and unit["score"] is not None:
                self.unit_scores.setdefault(unit["id"], []).append(unit["score"])
        if notes:
            self.counts["noted"] += 1
            if len(self.noted) < MOST_NOTED:
                self.noted[results.student] = notes

    def _cells(self, results: StudentResults, mistakes: list[tuple[str, str, str]]) -> list[str]:
        """Return the cells of a student's line, in the order of the header; blank ones if nothing could be graded.

        Args:
            results: the student's results.
            mistakes: exercise, answer and code of each mistake.
        """
        if results.why_no_score and not results.ungraded:
            return self._blank(results.student, _notes(results))
        units = {unit["id"]: unit["score"] for unit in results.units}
        ungraded = {exercise.id for exercise in results.ungraded}
        points = {e.id: None if e.id in ungraded else e.score for e in results.exercises}
        for adjustment in results.adjustments:
            if adjustment.exercise:
                points[adjustment.exercise] = total((points[adjustment.exercise] or 0.0, adjustment.points))
        mistake_list = "; ".join(f"{exercise} {answer}: {code}" for exercise, answer, code in mistakes)
        return [
            no_formula(plain(results.student)), _number(results.score, ""), _number(self.max_score),
            *(_number(units[unit], "") for unit in self.names.points),
            *(_number(points[exercise.id]) for exercise in self.names.wanted),
            no_formula(mistake_list), no_formula(plain(_notes(results))),
        ]  # fmt: skip

    def text(self) -> str:
        """Return the whole text of `grades.csv`, its rows sorted by the students' keys."""
        ids = [exercise.id for exercise in self.names.wanted]
        head = _line(["student", "score", "max_score", *self.names.points, *ids, "mistakes", "notes"])
        return "".join([head, *(self.rows[name].line for name in sorted(self.rows))])

    def add_failure(self, name: str, student: str, why: str) -> None:
        """Add a row without points for a student without a record, through no fault of the student.

        Args:
            name: the student's key.
            student: the student's name in the table.
            why: the reason, a sentence.
        """
        self.rows[name] = _Row(None, _line(self._blank(student, f"not graded: {why}")))
        self.failures.append(Failure(student, "", why))

    def summary(
        self,
        class_folder: ClassFolder,
        graded: int,
        reused: int,
        seconds: float,
        removed: Sequence[str],
    ) -> ClassSummary:
        """Return the counts of the class; those that only the results folder knows are left at their defaults.

        Args:
            class_folder: the submissions of the class.
            graded: how many submissions this run graded.
            reused: how many results it took from an earlier run.
            seconds: how long the run took.
            removed: the names of the result files that were moved away, because their students are no longer in the
                class.
        """
        scores = [row.score for row in self.rows.values() if row.score is not None]
        unclaimed = {submission.key for submission in class_folder.submissions if submission.is_unclaimed}
        nothing = sorted(self.nothing.items(), key=lambda item: item[1].student)
        strangers = tuple(entry for key, entry in nothing if key in unclaimed)
        return ClassSummary(
            students=len(self.rows) - len(strangers),
            scored=len(scores),
            graded=graded,
            reused=reused,
            mean_score=math.fsum(scores) / len(scores) if scores else None,
            max_score=self.max_score,
            mistakes={exercise.id: self._mistake_counts(exercise.id) for exercise in self.names.wanted},
            errors=tuple(sorted(self.failures, key=lambda failure: failure.student)),
            strays=class_folder.strays,
            seconds=seconds,
            kind=class_folder.layout,
            units={
                unit: UnitTotal(
                    len(self.unit_scores[unit]), math.fsum(self.unit_scores[unit]) / len(self.unit_scores[unit]), points
                )
                for unit, points in self.names.points.items()
                if unit in self.unit_scores
            },
            nothing=tuple(entry for key, entry in nothing if key not in unclaimed),
            unclaimed=strangers,
            noted=dict(sorted(self.noted.items())),
            with_notes=self.counts["noted"],
            absent=class_folder.absent,
            unlisted=class_folder.unlisted,
            removed=tuple(removed),
            late=self.counts["late"],
            untouched=tuple(sorted(self.untouched.values())),
            above=tuple(sorted(self.above)),
        )

    def _blank(self, student: str, note: str) -> list[str]:
        """Return the row of a student without points: empty cells for the score and the exercises, and the note."""
        blanks = [""] * (len(self.names.points) + len(self.names.wanted) + 1)
        return [no_formula(plain(student)), "", _number(self.max_score), *blanks, no_formula(plain(note))]

    @cached_property
    def max_score(self) -> float:
        """Return the sum of the points of all exercises that are graded."""
        return total(exercise.points for exercise in self.names.wanted)

    def _mistake_counts(self, exercise: str) -> tuple[MistakeCount, ...]:
        """Return how many students made each mistake in the exercise with this id, the most frequent mistake first."""
        counts = [MistakeCount(code, count) for (name, code), count in self.mistakes.items() if name == exercise]
        return tuple(sorted(counts, key=lambda mistake: (-mistake.students, mistake.code)))


def with_earlier(nothing: Sequence[NothingToGrade], class_folder: ClassFolder) -> tuple[NothingToGrade, ...]:
    """Return descriptions of submissions with the older submissions of their students, which may hold answers.

    They come in the same order; the older submissions of a student who is not in the class are none.

    Args:
        nothing: the submissions that hold nothing that could be graded.
        class_folder: all submissions of the class.
    """
    earlier = {submission.student: submission.earlier for submission in class_folder.submissions}
    return tuple(replace(entry, earlier=earlier.get(entry.student, ())) for entry in nothing)


def _is_unanswered(exercise: ExerciseResult) -> bool:
    """Return whether a student's file holds only the stub of an exercise, or does not define its function at all."""
    if exercise.status == "todo":
        return True
    return bool(exercise.answers) and {answer.code for answer in exercise.answers} == {"missing-function"}


def _mistakes(results: StudentResults) -> list[tuple[str, str, str]]:
    """Return exercise, answer and code of each wrong answer of a student; an answer not attempted is no mistake.

    The code is `UNNAMED` where the answer has none.
    """
    return [
        (exercise.id, answer.name, answer.code or UNNAMED)
        for exercise in results.exercises
        if exercise.status not in WITHOUT_MISTAKES
        for answer in exercise.answers
        if answer.status == "failed"
    ]


def _notes(results: StudentResults) -> str:
    """Return what there is to say of a student's results, joined by semicolons.

    That is why there is no score, the notes on the submission, which exercises a person has graded, and each change of
    points.
    """
    by_person = [f"{name}: {BY_PERSON}" for name in results.graded_by_person]
    changes = [change.sentence for change in results.changes]  # two that say the same both count
    return "; ".join([*filter(None, dict.fromkeys((results.why_no_score, *results.remarks))), *by_person, *changes])


def _line(cells: list[str]) -> str:
    """Return cells as one line of CSV, with its end."""
    return f"{csv_text(cells)}\r\n"


def _number(points: float | None, instead: str = "error") -> str:
    """Return points as the text of a cell with all digits, such as "2.5" or "3"; `instead` if they are `None`."""
    return instead if points is None else number(points)
