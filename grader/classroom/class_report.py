"""The report on a class in numbers, and the tally that makes it, one student at a time."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import get_args

from grader.course.course_file import CourseFile
from grader.errors import UsageError
from grader.results.points import total
from grader.results.records import AnswerResult, ExerciseResult

from .graded_exercise import UNREAD, UNRECOGNISED, GradedExercise, Key, Standing, is_misconception
from .student_results import Note, StudentResults, UnreadableResult

SEVERAL = 3
BINS = 10
NOT_IT = " is not it. "
FEWEST = 10


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


@dataclass
class QuestionCounts:
    """Running sums over the students who answered any question of the quiz.

    Args:
        given: how often each wrong answer was given.
        students: how many students there are whose answer could be read.
        right: how many of them have this question right.
        rest: how many other questions they have right, added up; `rest_squared` the squares of that.
        both: `rest` of those who have this question right.
    """

    given: Counter[str] = field(default_factory=Counter)
    students: int = 0
    right: int = 0
    rest: int = 0
    rest_squared: int = 0
    both: int = 0

    def add(self, answer: AnswerResult, rest: int) -> None:
        """Count one student, who has `rest` of the other questions right; what cannot be read tells nothing."""
        if answer.status == "failed" and answer.code in UNREAD:
            return
        self.students += 1
        self.rest += rest
        self.rest_squared += rest * rest
        if answer.status == "passed":
            self.right += 1
            self.both += rest
        elif answer.status == "failed":
            given, is_it, _ = answer.message.partition(NOT_IT)
            self.given[given if is_it else answer.code or ""] += 1

    @property
    def separation(self) -> float | None:
        """How well it separates strong from weak: the correlation between having it right and the rest of the quiz.

        The item-rest correlation, from -1 to 1; `None` for fewer than ten students, or where all are alike.
        """
        n = self.students
        spread = (n * self.right - self.right**2) * (n * self.rest_squared - self.rest**2)
        if n < FEWEST or spread <= 0:
            return None
        return (n * self.both - self.right * self.rest) / math.sqrt(spread)


def count_questions(counts: dict[str, QuestionCounts], quiz: ExerciseResult) -> None:
    """Count one student's quiz, unless nothing in it was answered, or it could not be graded."""
    if quiz.status == "error" or all(answer.status == "todo" for answer in quiz.answers):
        return
    right = sum(answer.status == "passed" for answer in quiz.answers)
    for answer in quiz.answers:
        counts.setdefault(answer.name, QuestionCounts()).add(answer, right - (answer.status == "passed"))


@dataclass
class _Mistake:
    """One mistake in one exercise."""

    example: Example
    students: int = 0
    answers: Counter[str] = field(default_factory=Counter)


@dataclass
class _Exercise:
    """One exercise, as far as it is counted.

    Args:
        answers: how many students stand with all its answers where.
    """

    points: float = 0.0
    standings: Counter[Standing] = field(default_factory=Counter)
    answers: Counter[tuple[tuple[str, Standing], ...]] = field(default_factory=Counter)
    mistakes: dict[str, _Mistake] = field(default_factory=dict)
    questions: dict[str, QuestionCounts] = field(default_factory=dict)


class Tally:
    """Count the results of a class.

    Args:
        config: the course as `course.yaml` lists it, for titles, teaching order and what is stretch.
        units: the units to count; all if empty.
    """

    def __init__(self, config: CourseFile | None = None, units: Collection[str] = ()) -> None:
        self._units = frozenset(units)
        self._config = config
        known = config.units if config else ()
        self._place = {key: place for place, key in enumerate((unit.id, name) for unit in known for name in unit.ids)}
        self._stretch = {(unit.id, entry.id) for unit in known for entry in unit.exercises if entry.stretch}
        self._seen: set[str] = set()
        self._names: set[str] = set()
        self._exercises = defaultdict[Key, _Exercise](_Exercise)
        self._done: Counter[tuple[str, int]] = Counter()
        self._codes: Counter[str] = Counter()
        self._lines: list[tuple[StudentLine, int]] = []
        self._ungraded: list[Ungraded] = []
        self._aside: list[UnreadableResult | Note] = []

    def add(self, handed: StudentResults) -> tuple[StudentLine, list[GradedExercise]]:
        """Count one student; return the student's line and the counted exercises, in teaching order."""
        exercises = self._counted_exercises(handed)
        standings = {exercise.key: exercise.standing for exercise in exercises}
        self._names.add(handed.course)
        for exercise in exercises:
            self._count(handed.student, exercise)
        codes = Counter(name for exercise in exercises for name in exercise.mistake_names)
        self._codes.update(codes.keys())
        passed = {key for key, stands in standings.items() if stands == "passed"} - self._stretch
        self._done.update(Counter(unit for unit, _ in passed).items())
        late = _late_penalties(exercises, handed)
        line = StudentLine(
            name=handed.student,
            score=total([*(exercise.score for exercise in exercises), *(-points for _, points in late)]),
            exercises=_counts(Counter(standings.values())),
            wrong=tuple(key for key, stands in standings.items() if stands == "wrong"),
            late=late,
            again=tuple((code, n) for code, n in _ranked(codes) if n >= SEVERAL and is_misconception(code)),
            notes=handed.notes,
        )
        self._lines.append((line, len(passed)))
        return line, exercises

    def add_uncounted(self, entry: UnreadableResult | Note) -> None:
        """Remember what cannot be counted."""
        self._aside.append(entry)

    def report(self) -> ClassReport:
        """Return the report on the class.

        Raises:
            UsageError: a unit that was asked for is not there.
        """
        if unknown := self._units - self._seen:
            known = ", ".join(sorted(self._seen))
            raise UsageError(f"There is no unit {min(unknown)!r} in these results; there is {known}.")
        keys = sorted(self._exercises, key=self._order)
        required = len([key for key in keys if key not in self._stretch])
        ranked = sorted(_ranked(self._codes), key=lambda item: item[0] in UNRECOGNISED)
        mistakes = [self._class_mistake(code, students, keys) for code, students in ranked]
        return ClassReport(
            title=self._title({unit for unit, _ in keys}),
            max_score=total(self._exercises[key].points for key in keys),
            students=tuple(self._line(line, done, len(keys), required) for line, done in self._lines),
            units=tuple(self._unit(unit, keys) for unit in dict.fromkeys(unit for unit, _ in keys)),
            mistakes=tuple(mistake for mistake in mistakes if mistake.code not in UNREAD),
            unread=tuple(mistake for mistake in mistakes if mistake.code in UNREAD),
            ungraded=tuple(self._ungraded),
            broken=tuple(entry for entry in self._aside if isinstance(entry, UnreadableResult)),
            notes=tuple(entry for entry in self._aside if isinstance(entry, Note)),
        )

    def _counted_exercises(self, handed: StudentResults) -> list[GradedExercise]:
        """The exercises that are counted, in teaching order, each with its answers by name."""
        self._seen.update(exercise.unit for exercise in handed.exercises)
        kept = [GradedExercise.counted(e) for e in handed.exercises if not self._units or e.unit in self._units]
        return sorted(kept, key=lambda exercise: self._order(exercise.key))

    def _order(self, key: Key) -> tuple[int, str, str]:
        """As `course.yaml` lists them; what it does not list comes last, by name."""
        return self._place.get(key, len(self._place)), *key

    def _title(self, units: Collection[str]) -> str:
        known = {unit.id for unit in self._config.units} if self._config else set()
        return self._config.title if self._config and known & set(units) else ", ".join(sorted(self._names))

    def _count(self, student: str, exercise: GradedExercise) -> None:
        counted = self._exercises[exercise.key]
        counted.points = max(counted.points, exercise.max_score)
        counted.standings[exercise.standing] += 1
        counted.answers[exercise.standings] += 1
        for code, answer in exercise.mistakes:
            _count_mistake(counted, student, code, answer)
        for code in exercise.mistake_names:
            counted.mistakes[code].students += 1
        if exercise.is_quiz:
            count_questions(counted.questions, exercise)
        if exercise.status == "error":
            why = next(answer.message for answer in exercise.answers if answer.status == "error")
            self._ungraded.append(Ungraded(student, exercise.key, why))

    def _line(self, line: StudentLine, done: int, total: int, required: int) -> StudentLine:
        """A line among all exercises: one that a student's result does not list was not tried."""
        untried = line.exercises.untried + total - line.exercises.total
        return replace(line, exercises=replace(line.exercises, untried=untried), finished=0 < required == done)

    def _unit(self, unit: str, keys: list[Key]) -> UnitReport:
        own = [key for key in keys if key[0] == unit]
        required = len([key for key in own if key not in self._stretch])
        titles = {known.id: known.title for known in self._config.units} if self._config else {}
        finished = self._done[unit, required] if required else 0
        return UnitReport(unit, titles.get(unit, ""), finished, tuple(self._exercise(key) for key in own))

    def _exercise(self, key: Key) -> ExerciseReport:
        counted, size = self._exercises[key], len(self._lines)
        standings = defaultdict[str, Counter[Standing]](Counter)
        for answers, students in counted.answers.items():
            for name, standing in answers:
                standings[name][standing] += students
        reports = [
            AnswerReport(name, _counts(found, size), tuple(_ranked(asked.given)), asked.separation)
            for name, found in standings.items()
            for asked in [counted.questions.get(name, QuestionCounts())]
        ]
        mistakes = [
            ExerciseMistake(code, found.students, tuple(name for name, _ in _ranked(found.answers)), found.example)
            for code, found in counted.mistakes.items()
        ]
        return ExerciseReport(
            *key,
            points=counted.points,
            stretch=key in self._stretch,
            counts=_counts(counted.standings, size),
            answers=tuple(sorted(reports, key=lambda answer: (answer.counts.passed, answer.name))),
            mistakes=tuple(sorted(mistakes, key=lambda found: (found.code in UNREAD, -found.students, found.code))),
            is_quiz=bool(counted.questions),
        )

    def _class_mistake(self, code: str, students: int, keys: list[Key]) -> ClassMistake:
        found = {key: self._exercises[key].mistakes.get(code) for key in keys}
        met = [(key, mistake.students) for key, mistake in found.items() if mistake]
        return ClassMistake(code, students, tuple(sorted(met, key=lambda item: -item[1])))


def _count_mistake(counted: _Exercise, student: str, code: str, answer: AnswerResult) -> None:
    """One wrong answer; the first example that comes with a measurement is kept, else the first."""
    found = counted.mistakes.get(code)
    if found is None or (answer.evidence and not found.example.evidence):
        example = Example(student, answer.name, answer.message, answer.evidence)
        found = counted.mistakes.setdefault(code, _Mistake(example))
        found.example = example
    found.answers[answer.name] += 1


def _late_penalties(exercises: Collection[GradedExercise], handed: StudentResults) -> tuple[tuple[str, float], ...]:
    """Return the points taken off for lateness in each unit, no more than were earned there."""
    earned = {unit: total(e.score for e in exercises if e.unit == unit) for unit in handed.penalties}
    deductions = ((unit, min(earned[unit], penalty)) for unit, penalty in sorted(handed.penalties.items()))
    return tuple((unit, points) for unit, points in deductions if points > 0)


def _counts(standings: Counter[Standing], size: int = 0) -> Counts:
    """The counts of a class of `size`, or of what is listed: who is not among the standings has not tried."""
    counts = Counts(*(standings[name] for name in get_args(Standing)))
    return replace(counts, untried=counts.untried + max(size - counts.total, 0))


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
