"""The report on a class in numbers, and the tally that makes it, one student at a time."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import get_args

from grader.course.course_file import CourseFile
from grader.errors import UsageError
from grader.results.points import total
from grader.results.records import AnswerResult, ExerciseResult, PointsChange, StudentResults

from .graded_exercise import UNREAD, UNRECOGNISED, GradedExercise, Key, Standing, is_misconception
from .student_results import ChangeRow, Note, UnreadableResult

SEVERAL = 3  # exercises with one misconception, or that are wrong, make a student stuck
BINS = 10  # columns in the chart of scores
NOT_IT = " is not it"  # stands after a wrong answer in the message of a question
FEWEST = 10  # students with whom a correlation means anything


@dataclass(frozen=True)
class Counts:
    """Count the students by their standing in an exercise or an answer; together they are the class.

    For one student, count the exercises by the student's standing in them.

    Args:
        passed: all answers are right.
        wrong: at least one answer is wrong.
        begun: some answers are right, and the others not attempted.
        unread: the file cannot be read, so that it is neither right nor wrong.
        untried: nothing was attempted.
        adjusted: grading failed, and a person gave it points.
        ungraded: grading failed or is still to come, through no fault of the student.
    """

    passed: int = 0
    wrong: int = 0
    begun: int = 0
    unread: int = 0
    untried: int = 0
    adjusted: int = 0
    ungraded: int = 0

    @property
    def tried(self) -> int:
        """Return the number of students whose work is right, wrong or begun."""
        return self.passed + self.wrong + self.begun

    @property
    def total(self) -> int:
        """Return the number of students, whatever their standing."""
        return self.tried + self.unread + self.untried + self.adjusted + self.ungraded


@dataclass(frozen=True)
class MistakeExample:
    """Hold a mistake as it was reported to one student: the name of the answer, the message and the evidence."""

    student: str
    answer: str
    message: str
    evidence: str


@dataclass(frozen=True)
class ExerciseMistake:
    """Count the students who made a mistake in an exercise.

    Args:
        code: the name that the mistake is counted under, such as its public code.
        students: how many students made it.
        answers: the names of the answers that have it, the most frequent first.
        example: the mistake as one student saw it.
    """

    code: str
    students: int
    answers: tuple[str, ...]
    example: MistakeExample


@dataclass(frozen=True)
class AnswerReport:
    """Report on one answer of an exercise, or one question of a quiz.

    Args:
        name: the name of the answer or question.
        counts: the students by their standing in the answer.
        given: each wrong answer to a question and how many gave it, the most frequent first; empty for an answer.
        separation: how well a question separates strong from weak students, from -1 to 1; `None` if that is not known.
    """

    name: str
    counts: Counts
    given: tuple[tuple[str, int], ...] = ()
    separation: float | None = None


@dataclass(frozen=True)
class ExerciseReport:
    """Report on one exercise.

    Args:
        unit: the id of the exercise's unit.
        id: the id of the exercise.
        points: the points that the exercise is worth.
        stretch: whether the exercise is optional.
        counts: the students by their standing in the exercise.
        answers: the reports on the answers, the least passed first.
        mistakes: the mistakes in the exercise, the most frequent first, and unreadable files last.
        is_quiz: whether the exercise is a quiz, whose answers are those to questions.
    """

    unit: str
    id: str
    points: float
    stretch: bool
    counts: Counts
    answers: tuple[AnswerReport, ...]
    mistakes: tuple[ExerciseMistake, ...]
    is_quiz: bool = False

    @property
    def readable_mistakes(self) -> tuple[ExerciseMistake, ...]:
        """Return the mistakes without files and answers that could not be read."""
        return tuple(mistake for mistake in self.mistakes if mistake.code not in UNREAD)


@dataclass(frozen=True)
class UnitReport:
    """Report on one unit.

    Args:
        id: the id of the unit.
        title: the title of the unit; empty if it is not known.
        finished: how many students passed every exercise of the unit that is not marked `stretch`.
        exercises: the reports on the exercises of the unit.
    """

    id: str
    title: str
    finished: int
    exercises: tuple[ExerciseReport, ...]

    @property
    def tried(self) -> int:
        """Return how many students tried the unit: the greatest number of students who tried one exercise of it."""
        return max(exercise.counts.tried for exercise in self.exercises)


@dataclass(frozen=True)
class ClassMistake:
    """Count the students who made a mistake in any exercise.

    Args:
        code: the name that it is counted under.
        students: how many made it.
        exercises: the unit and id of each exercise, and how many made it there, the most frequent first.
    """

    code: str
    students: int
    exercises: tuple[tuple[Key, int], ...]


@dataclass(frozen=True)
class Ungraded:
    """Describe why exercises of a student are not graded.

    Args:
        student: the student's name.
        exercises: unit and id of each exercise that is not graded for this reason.
        why: the reason, as a clause.
    """

    student: str
    exercises: tuple[Key, ...]
    why: str


@dataclass(frozen=True)
class StudentLine:
    """Hold a student's line in the report.

    Args:
        name: the student's name.
        score: the student's points after lateness, or what is known of them; see `why_no_score`.
        exercises: the exercises by the student's standing in them.
        wrong: unit and id of the wrong exercises.
        again: misconceptions in several exercises, and in how many, the most frequent first.
        changes: the changes of the points that no answer shows, by a person or for lateness.
        finished: whether every exercise that is not stretch is passed.
        notes: the notes on the submission.
        why_no_score: why there is no score, as a clause; empty if there is one.
    """

    name: str
    score: float
    exercises: Counts
    wrong: tuple[Key, ...] = ()
    again: tuple[tuple[str, int], ...] = ()
    changes: tuple[PointsChange, ...] = ()
    finished: bool = False
    notes: tuple[str, ...] = ()
    why_no_score: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return why there is no score, if there is none, and the notes on the submission, each once."""
        return tuple(dict.fromkeys(filter(None, (self.why_no_score, *self.notes))))

    @property
    def is_late(self) -> bool:
        """Return whether the student lost points for lateness."""
        return any(change.status == "late" for change in self.changes)

    @property
    def not_begun(self) -> bool:
        """Return whether the student has tried nothing."""
        return self.exercises.untried == self.exercises.total

    @property
    def failing(self) -> bool:
        """Return whether more exercises are wrong than passed, and at least `SEVERAL` are wrong, or all of them."""
        wrong = self.exercises.wrong
        return wrong > self.exercises.passed and wrong >= min(SEVERAL, self.exercises.total)

    @property
    def stuck(self) -> str:
        """Return the reasons why this student may need help, separated by semicolons; empty if there are none.

        They are that nothing was tried, that more exercises are wrong than passed, and each misconception in several
        exercises: "3 wrong, 1 passed; wrong-sign in 2 exercises".
        """
        reasons = ["not begun"] if self.not_begun else []
        reasons += [f"{self.exercises.wrong} wrong, {self.exercises.passed} passed"] if self.failing else []
        return "; ".join([*reasons, *(f"{code} in {count} exercises" for code, count in self.again)])


@dataclass(frozen=True)
class ClassReport:
    """Report on a class.

    Args:
        title: the title of the course.
        max_score: the points that a student could get.
        students: the lines of the students, in the order in which they were counted.
        units: the reports on the units, in teaching order.
        mistakes: the mistakes, by how many students made them, with unrecognised ones last.
        unread: the codes of files and answers that could not be read, which are not among the mistakes.
        ungraded: the exercises that are not graded.
        broken: the results that could not be read, and are not counted.
        notes: sentences on the results as a whole.
        history: the changes of grades since the run before, as `grade` wrote them.
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
    history: tuple[ChangeRow, ...] = ()

    @cached_property
    def scored(self) -> tuple[StudentLine, ...]:
        """Return the lines of the students who have a score."""
        return tuple(line for line in self.students if not line.why_no_score)

    @cached_property
    def without_work(self) -> tuple[StudentLine, ...]:
        """Return the lines of the students without a score of whom no exercise failed to be graded."""
        return tuple(line for line in self.students if line.why_no_score and not line.exercises.ungraded)

    @cached_property
    def changed(self) -> tuple[StudentLine, ...]:
        """Return the lines of the students whose points were changed, by a person or for lateness."""
        return tuple(line for line in self.students if line.changes)

    @cached_property
    def median(self) -> float | None:
        """Return the median score; `None` while no student has one."""
        return statistics.median(line.score for line in self.scored) if self.scored else None

    @cached_property
    def bins(self) -> tuple[int, ...]:
        """Return the number of students with a score in each tenth of the points; full marks are in the last."""
        reached = Counter(self.bin_of(line) for line in self.scored)
        return tuple(reached[i] for i in range(BINS))

    @property
    def finished(self) -> int:
        """Return how many students passed every exercise, except those that the course marks as `stretch`."""
        return sum(line.finished for line in self.students)

    @property
    def late(self) -> bool:
        """Return whether any student lost points for lateness."""
        return any(line.is_late for line in self.students)

    @cached_property
    def not_begun(self) -> tuple[StudentLine, ...]:
        """Return the lines of the students who have tried nothing."""
        return tuple(line for line in self.students if line.not_begun)

    @cached_property
    def stuck(self) -> tuple[StudentLine, ...]:
        """Return the lines of the students with one misconception in several exercises, the most frequent first.

        Among equals, the lowest score comes first.
        """
        lines = [line for line in self.students if line.again]
        return tuple(sorted(lines, key=lambda line: (-line.again[0][1], line.score, line.name)))

    @cached_property
    def failing(self) -> tuple[StudentLine, ...]:
        """Return the lines of students not in `stuck` with more exercises wrong than passed, the most wrong first.

        Among equals, the lowest score comes first.
        """
        lines = [line for line in self.students if line.failing and not line.again]
        return tuple(sorted(lines, key=lambda line: (-line.exercises.wrong, line.score, line.name)))

    def bin_of(self, line: StudentLine) -> int:
        """Return the index of the bar of the histogram, from 0 to `BINS` - 1, that a student's score belongs to."""
        share = line.score / self.max_score if self.max_score else 0.0
        return min(max(int(share * BINS + 1e-9), 0), BINS - 1)


@dataclass
class QuestionCounts:
    """Hold sums over the students who answered any question of a quiz, for one question.

    Args:
        given: how many students gave each wrong answer.
        students: how many students there are whose answer could be read.
        right: how many of them have this question right.
        others_right: the sum of the numbers of other questions that each of them has right.
        others_right_squared: the sum of the squares of those numbers.
        others_right_if_right: the sum of those numbers over the students who have this question right.
    """

    given: Counter[str] = field(default_factory=Counter)
    students: int = 0
    right: int = 0
    others_right: int = 0
    others_right_squared: int = 0
    others_right_if_right: int = 0

    def add(self, answer: AnswerResult, others_right: int) -> None:
        """Count one student, unless the answer cannot be read.

        Args:
            answer: the student's answer to this question.
            others_right: how many other questions the student has right.
        """
        if answer.status == "failed" and answer.code in UNREAD:
            return
        self.students += 1
        self.others_right += others_right
        self.others_right_squared += others_right * others_right
        if answer.status == "passed":
            self.right += 1
            self.others_right_if_right += others_right
        elif answer.status == "failed":
            given, separator, _ = answer.message.partition(NOT_IT)
            self.given[given.strip("`") if separator else answer.code or ""] += 1

    @property
    def separation(self) -> float | None:
        """Return the item-rest correlation: how well the question separates strong from weak students, from -1 to 1.

        It is the correlation between having this question right and the number of other questions that are right.
        `None` for fewer than ten students, or if one of the two is the same for all students.
        """
        n = self.students
        spread = (n * self.right - self.right**2) * (n * self.others_right_squared - self.others_right**2)
        if n < FEWEST or spread <= 0:
            return None
        return (n * self.others_right_if_right - self.right * self.others_right) / math.sqrt(spread)


def count_questions(counts: dict[str, QuestionCounts], quiz: ExerciseResult) -> None:
    """Count one student's quiz, unless nothing in it was answered, or it could not be graded.

    Args:
        counts: the sums for each question, by its name; they are increased.
        quiz: the result of the quiz.
    """
    if quiz.status == "error" or all(answer.status == "todo" for answer in quiz.answers):
        return
    right = sum(answer.status == "passed" for answer in quiz.answers)
    for answer in quiz.answers:
        counts.setdefault(answer.name, QuestionCounts()).add(answer, right - (answer.status == "passed"))


@dataclass
class _MistakeTally:
    """Count the students and the answers with one mistake in one exercise.

    Args:
        example: the mistake as it was reported to one student.
        students: how many students made it.
        answers: how many students made it in each answer, by the answer's name.
    """

    example: MistakeExample
    students: int = 0
    answers: Counter[str] = field(default_factory=Counter)


@dataclass
class _ExerciseTally:
    """Count the students in one exercise.

    Args:
        points: the points that it is worth.
        standings: the number of students with each standing.
        answers: the number of students with each combination of standings in its answers.
        mistakes: the counts of each mistake, by name.
        questions: the counts of each question of a quiz, by name.
    """

    points: float = 0.0
    standings: Counter[Standing] = field(default_factory=Counter)
    answers: Counter[tuple[tuple[str, Standing], ...]] = field(default_factory=Counter)
    mistakes: dict[str, _MistakeTally] = field(default_factory=dict)
    questions: dict[str, QuestionCounts] = field(default_factory=dict)


class Tally:
    """Count the results of a class, one student at a time.

    Args:
        config: the course as `course.yaml` lists it, for titles, teaching order and what is stretch.
        units: the ids of the units to count; all if empty.
    """

    def __init__(self, config: CourseFile | None = None, units: Collection[str] = ()) -> None:
        """Begin with no results.

        Args:
            config: the course, for the order and the titles of exercises; `None` if it is not known.
            units: the ids of the units that are counted; empty for all.
        """
        self._wanted_units = frozenset(units)
        self._config = config
        listed = config.units if config else ()
        self._place = {key: place for place, key in enumerate((unit.id, name) for unit in listed for name in unit.ids)}
        self._stretch = {(unit.id, entry.id) for unit in listed for entry in unit.exercises if entry.stretch}
        self._units_in_results: set[str] = set()
        self._course_ids: set[str] = set()
        self._exercises = defaultdict[Key, _ExerciseTally](_ExerciseTally)
        self._passed_in_unit: Counter[tuple[str, int]] = Counter()
        self._codes: Counter[str] = Counter()
        self._lines: list[tuple[StudentLine, int]] = []
        self._ungraded: list[Ungraded] = []
        self._uncounted: list[UnreadableResult | Note] = []

    def add(self, results: StudentResults) -> tuple[StudentLine, list[GradedExercise]]:
        """Count one student; return the student's line and the counted exercises, in teaching order."""
        exercises = self._counted_exercises(results)
        standings = {exercise.key: exercise.standing for exercise in exercises}
        self._course_ids.add(results.course)
        for exercise in exercises:
            self._count(results.student, exercise)
        self._ungraded += _ungraded(results.student, exercises, {failed.id for failed in results.ungraded})
        codes = Counter(name for exercise in exercises for name in exercise.mistake_names)
        self._codes.update(codes.keys())
        passed = {key for key, standing in standings.items() if standing == "passed"} - self._stretch
        self._passed_in_unit.update(Counter(unit for unit, _ in passed).items())
        results = results.in_units(self._wanted_units) if self._wanted_units else results
        changes = results.changes
        line = StudentLine(
            name=results.student,
            score=total([*(exercise.score for exercise in exercises), *(change.points for change in changes)]),
            exercises=_counts(Counter(standings.values())),
            wrong=tuple(key for key, standing in standings.items() if standing == "wrong"),
            changes=changes,
            again=tuple((code, n) for code, n in _ranked(codes) if n >= SEVERAL and is_misconception(code)),
            notes=results.remarks,
            why_no_score=results.why_no_score,
        )
        self._lines.append((line, len(passed)))
        return line, exercises

    def add_uncounted(self, entry: UnreadableResult | Note) -> None:
        """Keep a result that could not be read, or a note, for the report."""
        self._uncounted.append(entry)

    def report(self, history: Sequence[ChangeRow] = ()) -> ClassReport:
        """Return the report on the class.

        Args:
            history: the changes of grades since the run before.

        Raises:
            UsageError: a unit that is wanted is in no result.
        """
        if unknown := self._wanted_units - self._units_in_results:
            units = ", ".join(sorted(self._units_in_results))
            raise UsageError(f"There is no unit {min(unknown)!r} in these results; there is {units}.")
        keys = sorted(self._exercises, key=self._order)
        required = len([key for key in keys if key not in self._stretch])
        ranked = sorted(_ranked(self._codes), key=lambda item: item[0] in UNRECOGNISED)
        mistakes = [self._class_mistake(code, students, keys) for code, students in ranked]
        return ClassReport(
            title=self._title({unit for unit, _ in keys}),
            max_score=total(self._exercises[key].points for key in keys),
            students=tuple(self._line(line, passed, len(keys), required) for line, passed in self._lines),
            units=tuple(self._unit_report(unit, keys) for unit in dict.fromkeys(unit for unit, _ in keys)),
            mistakes=tuple(mistake for mistake in mistakes if mistake.code not in UNREAD),
            unread=tuple(mistake for mistake in mistakes if mistake.code in UNREAD),
            ungraded=tuple(self._ungraded),
            broken=tuple(entry for entry in self._uncounted if isinstance(entry, UnreadableResult)),
            notes=tuple(entry for entry in self._uncounted if isinstance(entry, Note)),
            history=tuple(history),
        )

    def _counted_exercises(self, results: StudentResults) -> list[GradedExercise]:
        """Return the exercises of a student in the units that the report is about, in teaching order."""
        self._units_in_results.update(exercise.unit for exercise in results.exercises)
        exercises = [
            GradedExercise.for_counting(e, results.adjusted_ids)
            for e in results.exercises
            if not self._wanted_units or e.unit in self._wanted_units
        ]
        return sorted(exercises, key=lambda exercise: self._order(exercise.key))

    def _order(self, key: Key) -> tuple[int, str, str]:
        """Return the sort key of an exercise by its unit and id: the place in `course.yaml`; unlisted ones last."""
        return self._place.get(key, len(self._place)), *key

    def _title(self, units: Collection[str]) -> str:
        """Return the title of the report: the course's if it has any of these units, else the ids of the courses."""
        course_units = {unit.id for unit in self._config.units} if self._config else set()
        return self._config.title if self._config and course_units & set(units) else ", ".join(sorted(self._course_ids))

    def _count(self, student: str, exercise: GradedExercise) -> None:
        """Add the result of one exercise of one student to the counts of standings, mistakes and questions."""
        tally = self._exercises[exercise.key]
        tally.points = max(tally.points, exercise.max_score)
        tally.standings[exercise.standing] += 1
        tally.answers[exercise.standings] += 1
        for code, answer in exercise.mistakes:
            _count_mistake(tally, student, code, answer)
        for code in exercise.mistake_names:
            tally.mistakes[code].students += 1
        if exercise.is_quiz:
            count_questions(tally.questions, exercise)

    def _line(self, line: StudentLine, passed: int, total: int, required: int) -> StudentLine:
        """Return a student's line in which the exercises that the student's results do not list count as untried.

        Args:
            line: the line.
            passed: how many exercises not marked `stretch` the student has passed.
            total: how many exercises there are.
            required: how many of all exercises are not marked `stretch`.
        """
        untried = line.exercises.untried + total - line.exercises.total
        return replace(line, exercises=replace(line.exercises, untried=untried), finished=0 < required == passed)

    def _unit_report(self, unit: str, keys: list[Key]) -> UnitReport:
        """Return the report on a unit.

        Args:
            unit: the id of the unit.
            keys: (unit, exercise) for all exercises of the course, in teaching order.
        """
        unit_keys = [key for key in keys if key[0] == unit]
        required = len([key for key in unit_keys if key not in self._stretch])
        titles = {entry.id: entry.title for entry in self._config.units} if self._config else {}
        finished = self._passed_in_unit[unit, required] if required else 0
        return UnitReport(unit, titles.get(unit, ""), finished, tuple(map(self._exercise_report, unit_keys)))

    def _exercise_report(self, key: Key) -> ExerciseReport:
        """Return the report on the exercise with this unit and id.

        The answers that fewest students passed come first, and so do the mistakes of most students; codes of answers
        that could not be read come last.
        """
        tally, size = self._exercises[key], len(self._lines)
        standings = defaultdict[str, Counter[Standing]](Counter)
        for answers, students in tally.answers.items():
            for name, standing in answers:
                standings[name][standing] += students
        reports = [
            AnswerReport(name, _counts(answer_standings, size), tuple(_ranked(question.given)), question.separation)
            for name, answer_standings in standings.items()
            for question in [tally.questions.get(name, QuestionCounts())]
        ]
        mistakes = [
            ExerciseMistake(
                code, mistake.students, tuple(name for name, _ in _ranked(mistake.answers)), mistake.example
            )
            for code, mistake in tally.mistakes.items()
        ]
        return ExerciseReport(
            *key,
            points=tally.points,
            stretch=key in self._stretch,
            counts=_counts(tally.standings, size),
            answers=tuple(sorted(reports, key=lambda answer: (answer.counts.passed, answer.name))),
            mistakes=tuple(
                sorted(mistakes, key=lambda mistake: (mistake.code in UNREAD, -mistake.students, mistake.code))
            ),
            is_quiz=bool(tally.questions),
        )

    def _class_mistake(self, code: str, students: int, keys: list[Key]) -> ClassMistake:
        """Return in how many results of each exercise a mistake occurs, the exercise with most first.

        Of equal ones the order is that of teaching; exercises without the mistake are left out.

        Args:
            code: the name that the mistake is counted under.
            students: how many students made it in any exercise.
            keys: all exercises, in teaching order.
        """
        tallies = {key: self._exercises[key].mistakes.get(code) for key in keys}
        counts = [(key, tally.students) for key, tally in tallies.items() if tally]
        return ClassMistake(code, students, tuple(sorted(counts, key=lambda item: -item[1])))


def _ungraded(student: str, exercises: Iterable[GradedExercise], ids: Collection[str]) -> list[Ungraded]:
    """Return why exercises of a student are not graded: one description for all that have the same reason.

    They are in the order of the first exercises.

    Args:
        student: the student's name.
        exercises: the student's exercises.
        ids: the ids of those that have no points, from a person either.
    """
    keys_by_reason = defaultdict[str, list[Key]](list)
    for exercise in exercises:
        if exercise.id in ids:
            keys_by_reason[exercise.failure].append(exercise.key)
    return [Ungraded(student, tuple(keys), why) for why, keys in keys_by_reason.items()]


def _count_mistake(exercise: _ExerciseTally, student: str, code: str, answer: AnswerResult) -> None:
    """Count one wrong answer; keep the first example that has evidence, or else the first one.

    Args:
        exercise: the counts of the exercise; they are increased.
        student: the student's name.
        code: the name that the mistake is counted under.
        answer: the wrong answer.
    """
    mistake = exercise.mistakes.get(code)
    if mistake is None or (answer.evidence and not mistake.example.evidence):
        example = MistakeExample(student, answer.name, answer.message, answer.evidence)
        mistake = exercise.mistakes.setdefault(code, _MistakeTally(example))
        mistake.example = example
    mistake.answers[answer.name] += 1


def _counts(standings: Counter[Standing], size: int = 0) -> Counts:
    """Return how many students have each standing; if they are fewer than `size`, the missing ones count as untried."""
    counts = Counts(*(standings[name] for name in get_args(Standing)))
    return replace(counts, untried=counts.untried + max(size - counts.total, 0))


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return the names with their counts, the greatest count first, and equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
