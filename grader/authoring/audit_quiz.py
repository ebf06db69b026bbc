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

from .audit_exercise import formulas, gives_away
from .build import read_worked

FEWEST = 8


def check_quiz(exercise: CourseExercise) -> Iterator[str]:
    """Yield what is wrong with a quiz, each a clause that ends with what to do.

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
            posed, shown_name = question_with_values(quiz, name, values), _name_with_values(name, values)
            if len(posed.wrong) < len(question.wrong):
                yield f"{shown_name}: two of its wrong answers are the same: draw from other numbers."
            for says in _check_question(posed):
                yield f"{shown_name}: {says}"


def _check_giveaways(quiz: CourseExercise) -> Iterator[str]:
    """Yield the questions that contain a formula of a worked solution of their unit."""
    exercises = [e for e in quiz.course.exercises if e.unit == quiz.unit and not e.is_quiz]
    answers: set[str] = set()
    for exercise in exercises:
        with suppress(CourseError):  # a solution that cannot be read is a finding of that exercise
            answers |= set(formulas(read_worked(exercise), final=True))
    for name, question in quiz.quiz.questions.items():
        for formula in sorted(answers):
            if any(gives_away(formula, text) for text in _question_texts(question)):
                yield f"{name} contains the answer to an exercise ({formula}): ask in other words."


def _question_texts(question: Question) -> Iterator[str]:
    """Yield all texts of a question that are read before it is answered."""
    yield from (question.ask, question.listing, *question.hints)
    if isinstance(question, (Choice, Choices)):
        yield from (right if isinstance(right, str) else right.text for right in question.right.values())
        yield from (wrong.text for wrong in question.wrong.values())


def _name_with_values(name: str, values: ParameterValues) -> str:
    """Return the name of a question, with the values of its parameters if it has any."""
    return f"{name} ({values_text(values)})" if values else name


def _check_question(question: AnswerableQuestion) -> Iterator[str]:
    """Yield what is wrong with one question with its numbers in it."""
    if question.params:
        texts = [question.ask, question.because, *question.hints, *_answer_texts(question)]
        for placeholder in (match for text in texts for match in PLACEHOLDER.findall(text)):
            yield f"{{{placeholder}}} is not worked out: use the names of params, or other brackets."
    if set(question.right) & set(question.wrong) and isinstance(question, (Choice, Choices)):
        yield "a choice is both right and wrong: give it another name."
        return
    mistake_in_right = mistake_in(question, right_answer(question))
    if mistake_in_right is not None:
        verdict = f"{mistake_in_right.code} ({mistake_in_right.says})"
        yield f"its right answer, {right_answer(question)}, is judged as {verdict}: correct it."
    elif not question.wrong:
        yield "it declares no wrong answer: add what a learner would get wrong, with what that reveals."
    for answer, mistake in _wrong_answers(question).items():
        judged = mistake_in(question, answer)
        if judged is None:
            yield f"its wrong answer, {answer}, passes: correct it."
        elif judged != mistake:
            verdict = f"{judged.code} ({judged.says})"
            yield f"its wrong answer, {answer}, is judged as {verdict}: sharpen it, or remove the other."


def _answer_texts(question: AnswerableQuestion) -> Iterator[str]:
    """Yield all texts of a question about its answers, with what they reveal."""
    if isinstance(question, Choices):
        yield from (part for option in question.right.values() for part in (option.text, option.says))
    if isinstance(question, (Choice, Choices)):
        yield from (option.text for option in question.wrong.values())
    yield from (mistake.says for mistake in question.wrong.values())


def _wrong_answers(question: AnswerableQuestion) -> Mapping[str, QuizMistake]:
    """Return each declared mistake by an answer that has it, as a learner writes that."""
    if not isinstance(question, Choices):
        return dict(question.wrong)
    right = list(question.right)
    added = {", ".join([*right, label]): option for label, option in question.wrong.items()}
    dropped = {", ".join(other for other in right if other != label): o for label, o in question.right.items()}
    return {answer: mistake for answer, mistake in {**added, **dropped}.items() if answer}
