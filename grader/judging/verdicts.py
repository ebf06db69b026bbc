"""Make results of mistakes: with points, hints and the record of the mistake."""

from __future__ import annotations

from dataclasses import replace

from grader.course.course import CourseExercise
from grader.course.exercise import Answer, Exercise
from grader.diagnosis.hints import hints_for
from grader.diagnosis.mistake import Mistake
from grader.results.points import part
from grader.results.records import AnswerResult, ExerciseResult, Status

from .quiz_sheets import grade_quiz


def same_for_every_answer(exercise: CourseExercise, mistake: Mistake, status: Status = "failed") -> ExerciseResult:
    """Return the result of an exercise in which every answer has this mistake and this status."""
    answers = [answer_result(exercise, answer, mistake, status) for answer in exercise.function.answers]
    return ExerciseResult(exercise.id, exercise.unit, tuple(answers), max_score=exercise.points)


def not_handed_in(exercise: CourseExercise) -> ExerciseResult:
    """Return the result of an exercise whose file does not exist."""
    if exercise.is_quiz:
        return grade_quiz(exercise, None)
    message = f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"
    return same_for_every_answer(exercise, Mistake("todo", message))


def answer_result(
    exercise: CourseExercise, answer: Answer, mistake: Mistake | None, status: Status = "failed",
    evidence: str = "", error: float | None = None, share: float = 0.0,
) -> AnswerResult:  # fmt: skip
    """Return the result of one answer, with its hints and points.

    Args:
        exercise: the exercise.
        answer: the answer, which has the hints that the exercise declares.
        mistake: what is wrong with it; `None` if it is right.
        status: the status of an answer that is neither right nor unanswered.
        evidence: a sentence on what was measured; may be empty.
        error: the greatest scaled error, if it was measured.
        share: the share of the answer's points that a failed one earns.
    """
    declaration = exercise.function
    points = exercise.points_of_answer
    if mistake is None:
        return AnswerResult(answer.name, "passed", points, points)
    answer_status: Status = "todo" if mistake.code == "todo" else status
    answer_hints, derives = declaration.hints.get(answer.name, ()), isinstance(declaration, Exercise)
    hints = hints_for(mistake.code, mistake.hints, answer_hints, derives=derives)
    record = mistake.record if mistake.facts else None
    earned = part(exercise.points, len(declaration.answers), share)
    return AnswerResult(
        answer.name, answer_status, earned, points, mistake.code, mistake.says, evidence, hints, error, record
    )  # fmt: skip


def without_mistakes(verdicts: ExerciseResult, why: str) -> ExerciseResult:
    """Return the verdicts with a note that mistakes could not be looked for, and why."""
    note = f"the mistakes could not be named ({why}); the verdicts are unaffected"
    return replace(verdicts, notes=(*verdicts.notes, note))
