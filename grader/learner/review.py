"""The review: a learner's most frequent mistakes, with quiz questions and exercises on them; chosen, and shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest

from grader.course.course import Course, CourseExercise
from grader.course.questions import codes_of
from grader.rendering.console import print_lines
from grader.rendering.render_text import Line
from grader.results.codes import MEANINGS, VALUE_CODES

from .progress import Progress
from .quiz_session import Practice
from .quiz_terminal import HELP_IN_REVIEW, ask_question, run_until_left, wrapped
from .session import Session

SLIPS = frozenset("syntax-error error missing-function missing-answer wrong-type timeout crash unknown".split())
"""Codes of slips while typing and of unnamed mistakes: they come last, with no questions but those answered wrong."""
MOST_QUESTIONS = 5
MOST_MISTAKES = 5


@dataclass(frozen=True)
class MistakeMet:
    """A mistake that a learner has met.

    Args:
        code: the public code of the mistake.
        times: how often it was met, less how often it was overcome in a review.
        where: the exercises and quizzes in which it was met, the most frequent first.
    """

    code: str
    times: int
    where: tuple[CourseExercise, ...]


@dataclass(frozen=True)
class ReviewQuestion:
    """A quiz question in which a mistake can be made that the learner has met.

    Args:
        code: the public code of the mistake.
        quiz: the quiz.
        name: the id of the question in it.
    """

    code: str
    quiz: CourseExercise
    name: str


@dataclass(frozen=True)
class ReviewExercise:
    """An exercise to finish, or to write again, in which the learner has met a mistake.

    Args:
        code: the public code of the mistake.
        exercise: the exercise.
        solved: whether its last result is passed, so that it is to be written again.
    """

    code: str
    exercise: CourseExercise
    solved: bool


@dataclass(frozen=True)
class Review:
    """A review: the most frequent mistakes, with questions and exercises on them."""

    mistakes: tuple[MistakeMet, ...]
    questions: tuple[ReviewQuestion, ...]
    exercises: tuple[ReviewExercise, ...]


def make_review(course: Course, progress: Progress, most_questions: int = MOST_QUESTIONS) -> Review:
    """Return a learner's review; an empty one if no mistake is on record.

    It is about the first `MOST_MISTAKES` mistakes, and has no question twice.

    Args:
        course: the course.
        progress: the learner's progress.
        most_questions: the greatest number of questions, taken from each mistake in turn.
    """
    mistakes = tuple(_mistakes_on_record(course, progress))[:MOST_MISTAKES]
    in_turn = chain.from_iterable(zip_longest(*(_questions(course, progress, met) for met in mistakes)))
    chosen: dict[tuple[str, str], ReviewQuestion] = {}
    for question in in_turn:
        if question is not None:
            chosen.setdefault((question.quiz.id, question.name), question)
    return Review(mistakes, tuple(chosen.values())[:most_questions], tuple(_exercises(progress, mistakes)))


def as_json(review: Review) -> dict[str, object]:
    """Return a review as JSON values: lists under "mistakes", "questions" and "exercises".

    A mistake has its "code", "times" and "where", a question its "code", "quiz" and "question", and an exercise its
    "code", "exercise" and "solved".
    """
    return {
        "mistakes": [
            {"code": met.code, "times": met.times, "where": [exercise.id for exercise in met.where]}
            for met in review.mistakes
        ],
        "questions": [
            {"code": question.code, "quiz": question.quiz.id, "question": question.name}
            for question in review.questions
        ],
        "exercises": [
            {"code": again.code, "exercise": again.exercise.id, "solved": again.solved} for again in review.exercises
        ],
    }


def _mistakes_on_record(course: Course, progress: Progress) -> Iterator[MistakeMet]:
    """Yield every mistake that the learner's record counts: the most frequent first, slips after all others."""
    known = {exercise.id: exercise for exercise in course.exercises}
    times = {code: sum(where.values()) for code, where in progress.met.items()}
    for code in sorted(times, key=lambda code: (code in SLIPS, -times[code], code)):
        where = _most_first(progress.met[code])
        if times[code] > 0:
            yield MistakeMet(code, times[code], tuple(known[name] for name in where if name in known))


def _most_first(counts: Mapping[str, int]) -> list[str]:
    """Return the names with a count above 0, the highest count first; equal counts stay in the order of the mapping."""
    return sorted((name for name in counts if counts[name] > 0), key=lambda name: -counts[name])


def _questions(course: Course, progress: Progress, met: MistakeMet) -> list[ReviewQuestion]:
    """Return the questions in which a mistake can be made, the most closely related first.

    Questions in which the learner made the mistake come first, then further questions of the units in which it was met,
    and for a mistake in the values of a gradient, questions of earlier units, the nearest unit first. Those of a kind
    come in the order of the course. Of a slip only the first kind is returned.
    """
    order = [unit.id for unit in course.config.units]
    units = {order.index(exercise.unit) for exercise in met.where}
    questions = [
        ReviewQuestion(met.code, quiz, name)
        for quiz in course.exercises
        if quiz.is_quiz
        for name, question in quiz.quiz.questions.items()
        if met.code in codes_of(question)
    ]
    answered_wrong = [question for question in questions if _was_answered_wrong(progress, question)]
    if met.code in SLIPS:
        return answered_wrong
    others = [(order.index(q.quiz.unit), q) for q in questions if q not in answered_wrong]
    here = [question for unit, question in others if unit in units]
    before = [(unit, question) for unit, question in others if unit not in units and unit < max(units, default=0)]
    before.sort(key=lambda pair: -pair[0])
    return [*answered_wrong, *here, *(question for _, question in before if met.code in VALUE_CODES)]


def _was_answered_wrong(progress: Progress, question: ReviewQuestion) -> bool:
    """Return whether the last result of the quiz has this question answered wrong, with the mistake to review."""
    result = progress.result(question.quiz)
    mistake = (question.name, question.code)
    return result is not None and any((answer.name, answer.code) == mistake for answer in result.answers)


def _exercises(progress: Progress, mistakes: tuple[MistakeMet, ...]) -> Iterator[ReviewExercise]:
    """Yield for each mistake the exercise in which it was met most, if possible one that is not solved.

    A solved exercise is left out if the mistake was a slip; no exercise is yielded twice.
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
    """Return whether the last result on record of an exercise is passed."""
    result = progress.result(exercise)
    return result is not None and result.status == "passed"


def run_review(session: Session, review: Review, variant: int) -> int:
    """Show a review and ask its questions; return the exit code.

    The counts of mistakes that right answers have reduced are saved.

    Args:
        session: the learner's session.
        review: the review.
        variant: the variant of the numbers in the questions.

    Returns:
        0 if all questions were asked, 130 if the learner left by Ctrl-C, 1 if the learner left otherwise.
    """
    print_lines(_mistake_lines(review.mistakes))
    code = 0
    if review.questions:
        print_lines([()])
        print_lines(wrapped(f"{_count(len(review.questions), 'question')} on these. {HELP_IN_REVIEW}", "dim"))
        code = run_until_left(lambda: _ask_questions(session, review, variant))
        session.progress.save()
    print_lines(_exercise_lines(review.exercises))
    return code


def _ask_questions(session: Session, review: Review, variant: int) -> None:
    """Ask each question once, with the numbers of `variant`; a right answer takes one mistake off the record.

    The record is not saved here.
    """
    right = 0
    for number, question in enumerate(review.questions, 1):
        mistake = ask_question(Practice(question.quiz, variant), question.name, f"{number} of {len(review.questions)}")
        if mistake is None:
            right += 1
            session.progress.remove_one_mistake(question.code)
    print_lines([(("", ""),), ((f"{right} of {len(review.questions)} right.", "good" if right else ""),)])


def _mistake_lines(mistakes: tuple[MistakeMet, ...]) -> Iterator[Line]:
    """Yield the lines on mistakes: each with its code, how often and where (at most three places), and its meaning."""
    if not mistakes:
        yield (
            ("No mistake is on record: there is nothing to go over yet. ", ""),
            ("handgrad", "bold"),
            (" goes on.", ""),
        )
        return
    yield (("The mistakes that you have met most:", "bold"),)
    for met in mistakes:
        where = ", ".join(exercise.id for exercise in met.where[:3])
        yield ((f"  {met.code}", "bad"), (f"  {_count(met.times, 'time')}", ""), (f"  {where}", "dim"))
        yield from wrapped(MEANINGS[met.code], "", first="    ")


def _exercise_lines(exercises: tuple[ReviewExercise, ...]) -> Iterator[Line]:
    """Yield the lines on exercises to do: each with its file, the mistake and the command; none without exercises."""
    if exercises:
        yield ()
        yield (("To write, or to write once more:", "bold"),)
    for again in exercises:
        step = f"handgrad reset {again.exercise.id}" if again.solved else f"handgrad check {again.exercise.id}"
        state = "solved; from the stub again: " if again.solved else "open: "
        yield ((f"  {again.exercise.file}", "bold"), (f"  {again.code}", "bad"))
        yield ((f"    {state}", "dim"), (step, "bold"))


def _count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1: "1 time", "3 times"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
