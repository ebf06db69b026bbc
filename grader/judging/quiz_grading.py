"""Grades an answer sheet: it is read as data in the parent, with no worker and no torch."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from grader.course import CourseExercise
from grader.errors import ReadError
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_sheet import Sheet, decode_sheet, how_to_answer, read_sheet
from grader.quiz.notebook_quiz import sheet_in
from grader.quiz.plain_yaml import Text
from grader.quiz.questions import NOT_READ
from grader.results import AnswerResult, ExerciseResult, Status
from grader.safe_text import plain

TODO = "not answered yet"
SHOWN = 40
MOST_MISNAMED = 60
BROKEN = "Look at that line and at the one above it. handgrad reset puts a fresh sheet there and keeps this one."
BROKEN_CELL = "Compare that cell with the one that you were given: one name, one answer, one comma in each line."


def grade(exercise: CourseExercise, content: bytes | Sequence[str]) -> ExerciseResult:
    """The verdict on every question, by an answer sheet or by the cells of a notebook, which are not run."""
    quiz, hint = exercise.quiz, BROKEN if isinstance(content, bytes) else BROKEN_CELL
    try:
        if isinstance(content, bytes):
            sheet: Sheet | None = read_sheet(decode_sheet(content), quiz)
        else:
            sheet = sheet_in(exercise.id, quiz, content)
    except ReadError as error:
        says = plain(f"line {error.line}: {error.problem}")
        return _same_for_every_answer(exercise, "failed", "syntax-error", says, (hint,))
    if sheet is None:
        says = f"no cell answers the quiz: write your answers into {exercise.id} = dict(...), and run that cell"
        return _same_for_every_answer(exercise, "todo", "todo", says)
    answers = tuple(_grade_answer(exercise, sheet, name) for name in quiz.questions)
    return ExerciseResult(exercise.id, exercise.unit, answers)


def not_handed_in(exercise: CourseExercise) -> ExerciseResult:
    """There is no sheet."""
    says = f"{exercise.file} is not there: get a sheet with: handgrad reset {exercise.id}"
    return _same_for_every_answer(exercise, "todo", "todo", says)


def _same_for_every_answer(
    exercise: CourseExercise, status: Status, code: str, says: str, hints: tuple[str, ...] = ()
) -> ExerciseResult:
    questions = exercise.quiz.questions
    points = exercise.points / len(questions)
    answers = tuple(
        AnswerResult(name, status, 0.0, points, code, says, hints=hints or question.hints)
        for name, question in questions.items()
    )
    return ExerciseResult(exercise.id, exercise.unit, answers)


def _grade_answer(exercise: CourseExercise, sheet: Sheet, name: str) -> AnswerResult:
    points = exercise.points / len(exercise.quiz.questions)
    answer = sheet.answers.get(name)
    question = exercise.quiz.question_with_key(name, sheet.variant)
    if answer is None:
        return AnswerResult(name, "todo", 0.0, points, "todo", _misnamed(name, sheet.unknown), hints=question.hints)
    found = mistake_in(question, answer)
    if found is None:
        return AnswerResult(name, "passed", points, points)
    if found.code == NOT_READ:  # no hint is used up, and nothing is counted: it is asked again
        says = f"{_shortened(answer)} cannot be read, and counts neither as right nor as wrong. {found.says}"
        return AnswerResult(name, "failed", 0.0, points, NOT_READ, says, hints=(how_to_answer(question),))
    says = f"{_shortened(answer)} is not it. {found.says}"
    return AnswerResult(name, "failed", 0.0, points, found.code, says, hints=question.hints)


def _shortened(answer: str) -> str:
    text = plain(" ".join(answer.split()))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _misnamed(name: str, unknown: tuple[Text, ...]) -> str:
    """Not answered; or answered under a name that no question has."""
    likely = [one for one in unknown[:MOST_MISNAMED] if abs(len(one) - len(name)) <= len(name) // 2]
    near = difflib.get_close_matches(name, likely, 1)
    found = next((one for one in likely if one in near), None)
    if found is None:
        return TODO
    return f"{TODO}: line {found.line} answers {plain(found)}, which is no question; did you mean {name}?"
