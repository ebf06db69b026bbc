"""Grade the answer sheet of a quiz, which is read as data, without a worker and without torch."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from grader.course.course import CourseExercise
from grader.course.plain_yaml import Text
from grader.course.questions import NOT_READ, AnswerableQuestion, Choice, Choices, QuizMistake
from grader.course.quiz import Quiz
from grader.errors import InfrastructureError, ReadError
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_reading import quoted
from grader.quiz.answer_sheet import Sheet, decode_sheet, how_to_answer, read_sheet
from grader.quiz.notebook_quiz import sheet_in
from grader.quiz.variants import question_with_key
from grader.results.records import ASKED, AnswerResult, ExerciseResult, Status
from grader.safe_text import plain

TODO = "not answered yet"
MOST_MISNAMED = 60
BROKEN = "Look at that line and at the one above it. handgrad reset puts a fresh sheet there and keeps this one."
BROKEN_CELL = "Compare that cell with the one that you were given: one name, one answer, one comma in each line."


def grade_quiz(exercise: CourseExercise, content: bytes | Sequence[str] | None) -> ExerciseResult:
    """Return the result of a quiz.

    Args:
        exercise: the quiz.
        content: the bytes of the answer sheet, or the texts of a notebook's cells, which are not run; `None` if nothing
            was handed in.

    Raises:
        SpecError: the quiz's questions cannot be read.
    """
    return ExerciseResult(exercise.id, exercise.unit, _question_results(exercise, content), max_score=exercise.points)


def _question_results(exercise: CourseExercise, content: bytes | Sequence[str] | None) -> tuple[AnswerResult, ...]:
    """Return the result of each question of a quiz, in the order of the quiz.

    Args:
        exercise: the quiz.
        content: the bytes of the answer sheet, or the source of each cell of a notebook; `None` if there is no sheet.
    """
    quiz, points = exercise.quiz, exercise.points_of_answer
    if content is None:
        message = f"{exercise.file} is not there: get a sheet with: handgrad reset {exercise.id}"
        return _same_for_every_question(exercise, "todo", "todo", message)
    try:
        if isinstance(content, bytes):
            sheet: Sheet | None = read_sheet(decode_sheet(content), quiz)
        else:
            sheet = sheet_in(exercise.id, quiz, content)
    except ReadError as error:
        hint = BROKEN if isinstance(content, bytes) else BROKEN_CELL
        message = plain(f"line {error.line}: {error.problem}")
        return _same_for_every_question(exercise, "failed", "syntax-error", message, (hint,))
    if sheet is None:
        message = f"no cell answers the quiz: write your answers into {exercise.id} = dict(...), and run that cell"
        return _same_for_every_question(exercise, "todo", "todo", message)
    return tuple(_grade_question(quiz, name, sheet, points) for name in quiz.questions)


def _same_for_every_question(
    exercise: CourseExercise, status: Status, code: str, message: str, hints: tuple[str, ...] = ()
) -> tuple[AnswerResult, ...]:
    """Return the same result without points for every question of a quiz.

    Args:
        exercise: the quiz.
        status: the status of each result.
        code: the public code of each result.
        message: the message of each result.
        hints: the hints of each result; those of the question if empty.
    """
    points = exercise.points_of_answer
    return tuple(
        AnswerResult(name, status, 0.0, points, code, message, hints=hints or question.hints)
        for name, question in exercise.quiz.questions.items()
    )


def _grade_question(quiz: Quiz, name: str, sheet: Sheet, points: float) -> AnswerResult:
    """Return the result of one question of a sheet; a question without an answer is `todo`.

    Args:
        quiz: the quiz.
        name: the id of the question.
        sheet: the learner's answers, and the variant of the quiz.
        points: the points of a right answer.
    """
    answer, question = sheet.answers.get(name), question_with_key(quiz, name, sheet.variant)
    if answer is None:
        return AnswerResult(name, "todo", 0.0, points, "todo", _misnamed(name, sheet.unknown), hints=question.hints)
    try:
        mistake = mistake_in(question, answer)
    except InfrastructureError as error:
        return AnswerResult(name, "error", 0.0, points, "error", plain(f"{quoted(answer)}: {error}"))
    if mistake is None:
        return AnswerResult(name, "passed", points, points)
    if mistake.code == NOT_READ:  # no hint is used up, and nothing is counted: it is asked again
        message = f"{quoted(answer)} cannot be read: it has no points, and no mistake is counted. {mistake.says}"
        hints: tuple[str, ...] = (how_to_answer(question), *question.hints)
    else:
        chosen = _text_of_wrong_choice(question, mistake)
        end = f': "{chosen}"' if chosen else "."
        message = f"{quoted(answer)} is not it{end} {mistake.says}"
        hints = question.hints
    evidence = f"{ASKED}{question.text}"
    return AnswerResult(name, "failed", 0.0, points, mistake.code, message, evidence=evidence, hints=hints)


def _text_of_wrong_choice(question: AnswerableQuestion, mistake: QuizMistake) -> str:
    """Return the text of the wrong choice that a mistake is about, without which its sentence is not understood.

    Empty if it is about a right choice that is left out, whose text would tell the answer, or the question has none.

    Args:
        question: the question.
        mistake: the mistake in the learner's answer.
    """
    wrong = question.wrong.values() if isinstance(question, Choice | Choices) else ()
    return next((option.text for option in wrong if option is mistake), "")


def _misnamed(name: str, unknown: tuple[Text, ...]) -> str:
    """Return the message that a question is not answered.

    It names the key of the sheet that no question has and that is most like the id, if one is like it.

    Args:
        name: the id of the question.
        unknown: the keys of the sheet that are no question's, each with its line; may be empty.
    """
    likely = [key for key in unknown[:MOST_MISNAMED] if abs(len(key) - len(name)) <= len(name) // 2]
    near = difflib.get_close_matches(name, likely, 1)
    meant = next((key for key in likely if key in near), None)
    if meant is None:
        return TODO
    return f"{TODO}: line {meant.line} answers {plain(meant)}, which is no question; did you mean {name}?"
