"""Chooses what to go over again: a learner's most frequent mistakes, with questions and exercises on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest

from grader.course.course import Course, CourseExercise
from grader.course.questions import codes_of
from grader.results.codes import VALUE_CODES

from .progress import Progress

SLIPS = frozenset("syntax-error error missing-function missing-answer wrong-type timeout crash unknown".split())
"""What happens to anyone while typing, or has no name: it comes last, and nothing else is asked about it."""
MOST_QUESTIONS = 5
MOST_MISTAKES = 5


@dataclass(frozen=True)
class MistakeMet:
    """A mistake that a learner has met.

    Args:
        code: the public code of the mistake.
        times: how often, less the times that it was got over since.
        where: the exercises and quizzes, the most frequent first.
    """

    code: str
    times: int
    where: tuple[CourseExercise, ...]


@dataclass(frozen=True)
class ReviewQuestion:
    """A quiz question in which a mistake can be made."""

    code: str
    quiz: CourseExercise
    name: str


@dataclass(frozen=True)
class ReviewExercise:
    """An exercise to finish, or to write once more."""

    code: str
    exercise: CourseExercise
    solved: bool


@dataclass(frozen=True)
class Review:
    """What is worth going over, by the mistakes met most."""

    mistakes: tuple[MistakeMet, ...]
    questions: tuple[ReviewQuestion, ...]
    exercises: tuple[ReviewExercise, ...]


def review(course: Course, progress: Progress, most_questions: int = MOST_QUESTIONS) -> Review:
    """What this learner had best go over now; nothing in it where no mistake is on record.

    Args:
        most_questions: each mistake in turn gets a question, until there are so many.
    """
    mistakes = tuple(_mistakes_on_record(course, progress))[:MOST_MISTAKES]
    in_turn = chain.from_iterable(zip_longest(*(_questions(course, progress, met) for met in mistakes)))
    chosen: dict[tuple[str, str], ReviewQuestion] = {}
    for asked in in_turn:
        if asked is not None:
            chosen.setdefault((asked.quiz.id, asked.name), asked)
    return Review(mistakes, tuple(chosen.values())[:most_questions], tuple(_exercises(progress, mistakes)))


def as_json(found: Review) -> dict[str, object]:
    """A review as plain JSON values."""
    return {
        "mistakes": [
            {"code": met.code, "times": met.times, "where": [exercise.id for exercise in met.where]}
            for met in found.mistakes
        ],
        "questions": [{"code": each.code, "quiz": each.quiz.id, "question": each.name} for each in found.questions],
        "exercises": [
            {"code": each.code, "exercise": each.exercise.id, "solved": each.solved} for each in found.exercises
        ],
    }


def _mistakes_on_record(course: Course, progress: Progress) -> Iterator[MistakeMet]:
    """Every mistake on record, the most frequent first, and slips after all others."""
    known = {exercise.id: exercise for exercise in course.exercises}
    times = {code: sum(where.values()) for code, where in progress.met.items()}
    for code in sorted(times, key=lambda code: (code in SLIPS, -times[code], code)):
        where = _most_first(progress.met[code])
        if times[code] > 0:
            yield MistakeMet(code, times[code], tuple(known[name] for name in where if name in known))


def _most_first(counts: Mapping[str, int]) -> list[str]:
    return sorted((name for name in counts if counts[name] > 0), key=lambda name: -counts[name])


def _questions(course: Course, progress: Progress, met: MistakeMet) -> list[ReviewQuestion]:
    """The questions in which this mistake can be made, the most closely related first.

    Those in which it was made, then those of the units in which it was. A mistake in the numbers is the same one in
    every unit, so the units before follow; of those that come later the subject may be new.
    """
    order = [unit.id for unit in course.config.units]
    units = {order.index(exercise.unit) for exercise in met.where}
    found = [
        ReviewQuestion(met.code, quiz, name)
        for quiz in course.exercises
        if quiz.is_quiz
        for name, question in quiz.quiz.questions.items()
        if met.code in codes_of(question)
    ]
    gone_wrong = [asked for asked in found if _went_wrong(progress, asked)]
    if met.code in SLIPS:
        return gone_wrong
    others = [(order.index(asked.quiz.unit), asked) for asked in found if asked not in gone_wrong]
    here = [asked for unit, asked in others if unit in units]
    before = [(unit, asked) for unit, asked in others if unit not in units and unit < max(units, default=0)]
    before.sort(key=lambda pair: -pair[0])
    return [*gone_wrong, *here, *(asked for _, asked in before if met.code in VALUE_CODES)]


def _went_wrong(progress: Progress, asked: ReviewQuestion) -> bool:
    known = progress.result(asked.quiz)
    return known is not None and any(each.name == asked.name and each.code == asked.code for each in known.answers)


def _exercises(progress: Progress, mistakes: tuple[MistakeMet, ...]) -> Iterator[ReviewExercise]:
    """For each mistake the exercise in which it was met most: an open one, before one that is solved.

    What was a slip, and is right now, need not be written again.
    """
    taken: set[str] = set()
    for met in mistakes:
        candidates = [
            ReviewExercise(met.code, exercise, _is_solved(progress, exercise))
            for exercise in met.where
            if not exercise.is_quiz and exercise.id not in taken
        ]
        candidates = [again for again in candidates if not (again.solved and met.code in SLIPS)]
        if candidates:
            chosen = min(candidates, key=lambda again: again.solved)
            taken.add(chosen.exercise.id)
            yield chosen


def _is_solved(progress: Progress, exercise: CourseExercise) -> bool:
    known = progress.result(exercise)
    return known is not None and known.status == "passed"
