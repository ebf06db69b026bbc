"""Checks a quiz: right answers pass, declared mistakes are recognised, and computed keys are up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from grader.course.course import CourseExercise
from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Question, QuizMistake
from grader.course.quiz import Quiz
from grader.errors import CourseError
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_sheet import right_answer
from grader.quiz.computed_answers import compute_keys
from grader.quiz.variants import PLACEHOLDER, ParameterValues, every_values, question_with_values, values_text

from .audit_words import formulas, gives_away
from .build import read_worked

FEWEST = 8


def check_quiz(exercise: CourseExercise) -> Iterator[str]:
    """What is wrong with a quiz, each a clause that ends with what to do.

    Raises:
        SpecError: its file cannot be read, or a listing cannot be run.
    """
    quiz = exercise.quiz
    keys = compute_keys(quiz)
    if keys != quiz.keys:
        yield "the computed answers of its predictions are out of date: write them with: handgrad build"
    quiz = Quiz(quiz.questions, keys)
    yield from _check_giveaways(exercise)
    if len(quiz.questions) < FEWEST:
        yield f"it has {len(quiz.questions)} questions: ask at least {FEWEST}."
    for name, question in quiz.questions.items():
        for number, step in enumerate(question.hints, 1):
            if isinstance(question, Expression) and gives_away(question.right, step):
                yield f"hint {number} of {name} gives the formula away: ask for it instead."
        for values in every_values(question):
            posed = question_with_values(quiz, name, values)
            if len(posed.wrong) < len(question.wrong):
                yield f"{_named(name, values)}: two of its wrong answers are the same: draw from other numbers."
            for says in _check_question(posed):
                yield f"{_named(name, values)}: {says}"


def _check_giveaways(quiz: CourseExercise) -> Iterator[str]:
    """Questions that contain an answer to an exercise of their unit."""
    exercises = [e for e in quiz.course.exercises if e.unit == quiz.unit and not e.is_quiz]
    found: set[str] = set()
    for exercise in exercises:
        with suppress(CourseError):  # what is wrong with a solution is told of that exercise
            found |= set(formulas(read_worked(exercise), final=True))
    for name, question in quiz.quiz.questions.items():
        for formula in sorted(found):
            if any(gives_away(formula, text) for text in _question_texts(question)):
                yield f"{name} contains the answer to an exercise ({formula}): ask in other words."


def _question_texts(question: Question) -> Iterator[str]:
    """All texts that are read before an answer is given."""
    yield from (question.ask, question.listing, *question.hints)
    if isinstance(question, (Choice, Choices)):
        yield from (right if isinstance(right, str) else right.text for right in question.right.values())
        yield from (wrong.text for wrong in question.wrong.values())


def _named(name: str, values: ParameterValues) -> str:
    return f"{name} ({values_text(values)})" if values else name


def _check_question(question: AnswerableQuestion) -> Iterator[str]:
    """What is wrong with one question, as one learner meets it."""
    if question.params:
        texts = [question.ask, question.because, *question.hints, *_answer_texts(question)]
        for found in (found for text in texts for found in PLACEHOLDER.findall(text)):
            yield f"{{{found}}} is not worked out: use the names of params, or other brackets."
    if set(question.right) & set(question.wrong) and isinstance(question, (Choice, Choices)):
        yield "a choice is both right and wrong: give it another name."
        return
    found = mistake_in(question, right_answer(question))
    if found is not None:
        yield f"its right answer, {right_answer(question)}, is told as {found.code} ({found.says}): correct it."
    elif not question.wrong:
        yield "it declares no wrong answer: add what a learner would get wrong, with what that reveals."
    for answer, mistake in _wrong_answers(question).items():
        told = mistake_in(question, answer)
        if told is None:
            yield f"its wrong answer, {answer}, passes: correct it."
        elif told != mistake:
            yield f"its wrong answer, {answer}, is told as {told.code} ({told.says}): sharpen it, or remove the other."


def _answer_texts(question: AnswerableQuestion) -> Iterator[str]:
    """All texts about a question's answers."""
    if isinstance(question, Choices):
        yield from (part for option in question.right.values() for part in (option.text, option.says))
    if isinstance(question, (Choice, Choices)):
        yield from (option.text for option in question.wrong.values())
    yield from (mistake.says for mistake in question.wrong.values())


def _wrong_answers(question: AnswerableQuestion) -> Mapping[str, QuizMistake]:
    """A learner's answer for each declared mistake, and the mistake."""
    if not isinstance(question, Choices):
        return dict(question.wrong)
    right = list(question.right)
    added = {", ".join([*right, label]): option for label, option in question.wrong.items()}
    left_out = {", ".join(one for one in right if one != label): option for label, option in question.right.items()}
    return {answer: mistake for answer, mistake in {**added, **left_out}.items() if answer}
