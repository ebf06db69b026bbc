"""Counts a class one student at a time, so that a class of any size fits in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import get_args

from grader.course.course_file import CourseFile
from grader.errors import UsageError
from grader.results.points import total
from grader.results.records import AnswerResult

from .class_statistics import (
    SEVERAL,
    AnswerReport,
    ClassMistake,
    ClassReport,
    Counts,
    Example,
    ExerciseMistake,
    ExerciseReport,
    Note,
    StudentLine,
    StudentResults,
    Ungraded,
    UnitReport,
    UnreadableResult,
)
from .graded_exercise import UNREAD, UNRECOGNISED, GradedExercise, Key, Standing, is_misconception
from .question_counts import QuestionCounts, count_questions


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
