"""The records of a class report: students, exercises and mistakes in numbers, whoever graded them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from grader.results.records import ExerciseResult

from .graded_exercise import Key

SEVERAL = 3
BINS = 10


@dataclass(frozen=True)
class StudentResults:
    """One student's graded work.

    Args:
        notes: what an instructor should know of the submission.
        penalties: points taken off for lateness, by unit.
        max_score: the points that there were to get; those of the exercises if left out.
        seed: where every trial came from, where it is known.
    """

    course: str
    student: str
    exercises: tuple[ExerciseResult, ...]
    notes: tuple[str, ...] = ()
    penalties: Mapping[str, float] = field(default_factory=dict)
    max_score: float | None = None
    seed: int | None = None


@dataclass(frozen=True)
class UnreadableResult:
    """A result that could not be read, and is in no number."""

    name: str
    why: str


@dataclass(frozen=True)
class Note:
    """What an instructor should know of the results as a whole."""

    says: str


@dataclass(frozen=True)
class Counts:
    """How many students have passed, are wrong, and so on; together they are all.

    Args:
        wrong: at least one answer is wrong.
        begun: some answers are right and the others not attempted.
        unread: what was handed in cannot be read: neither right nor wrong.
        ungraded: grading failed or is still to come, through no fault of the student.
    """

    passed: int = 0
    wrong: int = 0
    begun: int = 0
    unread: int = 0
    untried: int = 0
    ungraded: int = 0

    @property
    def tried(self) -> int:
        return self.passed + self.wrong + self.begun

    @property
    def total(self) -> int:
        return self.tried + self.unread + self.untried + self.ungraded


@dataclass(frozen=True)
class Example:
    """A mistake as it was reported to one student."""

    student: str
    answer: str
    message: str
    evidence: str


@dataclass(frozen=True)
class ExerciseMistake:
    """How many students made a mistake in an exercise, in which answers, the most frequent first.

    Args:
        code: what it is counted under; see `error_kinds.mistake_name`.
    """

    code: str
    students: int
    answers: tuple[str, ...]
    example: Example


@dataclass(frozen=True)
class AnswerReport:
    """One answer of an exercise.

    Args:
        given: of a quiz question, each wrong answer and how many gave it, the most frequent first.
        separation: of a quiz question, how well it separates strong from weak; see `QuestionCounts.separation`.
    """

    name: str
    counts: Counts
    given: tuple[tuple[str, int], ...] = ()
    separation: float | None = None


@dataclass(frozen=True)
class ExerciseReport:
    """One exercise.

    Args:
        answers: the least passed first.
        mistakes: the most frequent first; what could not be read last.
        is_quiz: its answers are those to questions.
    """

    unit: str
    id: str
    points: float
    stretch: bool
    counts: Counts
    answers: tuple[AnswerReport, ...]
    mistakes: tuple[ExerciseMistake, ...]
    is_quiz: bool = False


@dataclass(frozen=True)
class UnitReport:
    """One unit: `finished` students passed every exercise of it that is not stretch."""

    id: str
    title: str
    finished: int
    exercises: tuple[ExerciseReport, ...]

    @property
    def tried(self) -> int:
        """The most students that any of its exercises was tried by."""
        return max(exercise.counts.tried for exercise in self.exercises)


@dataclass(frozen=True)
class ClassMistake:
    """How many students made a mistake anywhere, and how many in each (unit, exercise), the most frequent first."""

    code: str
    students: int
    exercises: tuple[tuple[Key, int], ...]


@dataclass(frozen=True)
class Ungraded:
    """An exercise of a student that is not graded, and why."""

    student: str
    exercise: Key
    why: str


@dataclass(frozen=True)
class StudentLine:
    """One student.

    Args:
        score: points, late penalties taken off.
        late: the penalty for each unit that has one.
        exercises: in how many exercises the student stands where.
        wrong: unit and id of the wrong ones.
        again: misconceptions met in several exercises, and in how many, the most frequent first.
        finished: every exercise that is not stretch is passed.
        notes: what was ignored in the submission.
    """

    name: str
    score: float
    exercises: Counts
    wrong: tuple[Key, ...] = ()
    again: tuple[tuple[str, int], ...] = ()
    late: tuple[tuple[str, float], ...] = ()
    finished: bool = False
    notes: tuple[str, ...] = ()

    @property
    def not_begun(self) -> bool:
        return self.exercises.untried == self.exercises.total

    @property
    def failing(self) -> bool:
        """More exercises wrong than passed, and several of them, or all there are."""
        wrong = self.exercises.wrong
        return wrong > self.exercises.passed and wrong >= min(SEVERAL, self.exercises.total)

    @property
    def stuck(self) -> str:
        """Why this student may need somebody; empty if not."""
        reasons = ["not begun"] if self.not_begun else []
        reasons += [f"{self.exercises.wrong} wrong, {self.exercises.passed} passed"] if self.failing else []
        return "; ".join([*reasons, *(f"{code} in {count} exercises" for code, count in self.again)])


@dataclass(frozen=True)
class ClassReport:
    """Everything that a report says of a class.

    Args:
        students: by name.
        units: in teaching order.
        mistakes: by how many students made them; those in no way recognised last.
        unread: what could not be read, counted apart from them.
    """

    title: str
    max_score: float
    students: tuple[StudentLine, ...]
    units: tuple[UnitReport, ...]
    mistakes: tuple[ClassMistake, ...]
    unread: tuple[ClassMistake, ...] = ()
    ungraded: tuple[Ungraded, ...] = ()
    broken: tuple[UnreadableResult, ...] = ()
    notes: tuple[Note, ...] = ()

    @cached_property
    def scored(self) -> tuple[StudentLine, ...]:
        """The students of whom everything is graded: only their scores are compared."""
        return tuple(line for line in self.students if not line.exercises.ungraded)

    @cached_property
    def median(self) -> float | None:
        """The median score; `None` while nobody is graded in full."""
        return statistics.median(line.score for line in self.scored) if self.scored else None

    @cached_property
    def bins(self) -> tuple[int, ...]:
        """How many students reached each tenth of the points; the last holds full marks too."""
        reached = Counter(self._bin(line) for line in self.scored)
        return tuple(reached[i] for i in range(BINS))

    @property
    def finished(self) -> int:
        return sum(line.finished for line in self.students)

    @property
    def late(self) -> bool:
        """Somebody lost points for lateness."""
        return any(line.late for line in self.students)

    @cached_property
    def not_begun(self) -> tuple[StudentLine, ...]:
        return tuple(line for line in self.students if line.not_begun)

    @cached_property
    def stuck(self) -> tuple[StudentLine, ...]:
        """The students who meet the same misconception again and again, the most often met first."""
        found = [line for line in self.students if line.again]
        return tuple(sorted(found, key=lambda line: (-line.again[0][1], line.score, line.name)))

    @cached_property
    def failing(self) -> tuple[StudentLine, ...]:
        """The others with more wrong than passed, those with the most wrong exercises first."""
        found = [line for line in self.students if line.failing and not line.again]
        return tuple(sorted(found, key=lambda line: (-line.exercises.wrong, line.score, line.name)))

    def _bin(self, line: StudentLine) -> int:
        share = line.score / self.max_score if self.max_score else 0.0
        return min(max(int(share * BINS + 1e-9), 0), BINS - 1)
