"""A verdict as a result: with its points, its hints, and the record of its mistake."""

from __future__ import annotations

from dataclasses import replace

from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis
from grader.exercise import Answer, Exercise
from grader.points import part
from grader.results import AnswerResult, ExerciseResult, Status
from grader.wording.words import hints_for


def same_for_every_answer(exercise: CourseExercise, diagnosis: Diagnosis, status: Status = "failed") -> ExerciseResult:
    """The same verdict on every answer of a file."""
    answers = [answer_result(exercise, answer, diagnosis, status) for answer in exercise.function.answers]
    return ExerciseResult(exercise.id, exercise.unit, tuple(answers), max_score=exercise.points)


def not_handed_in(exercise: CourseExercise) -> ExerciseResult:
    """Nothing is there to be graded."""
    if exercise.is_quiz:
        return exercise.quiz_result(None)
    says = f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"
    return same_for_every_answer(exercise, Diagnosis("todo", says))


def answer_result(
    exercise: CourseExercise, answer: Answer, diagnosis: Diagnosis | None, status: Status = "failed",
    evidence: str = "", error: float | None = None, share: float = 0.0,
) -> AnswerResult:  # fmt: skip
    """The verdict on one answer as a result, with its hints, and its points or such a share of them."""
    declaration = exercise.function
    points = exercise.points_of_answer
    if diagnosis is None:
        return AnswerResult(answer.name, "passed", points, points)
    found: Status = "todo" if diagnosis.code == "todo" else status
    of_answer, derives = declaration.hints.get(answer.name, ()), isinstance(declaration, Exercise)
    hints = hints_for(diagnosis.code, diagnosis.hints, of_answer, derives=derives)
    record = None if diagnosis.mistake is None else diagnosis.mistake.record
    earned = part(exercise.points, len(declaration.answers), share)
    return AnswerResult(
        answer.name, found, earned, points, diagnosis.code, diagnosis.says, evidence, hints, error, record
    )  # fmt: skip


def without_mistakes(verdicts: ExerciseResult, why: str) -> ExerciseResult:
    """The verdicts with a note that no mistake could be looked for."""
    return replace(verdicts, notes=(*verdicts.notes, f"no mistake could be looked for ({why}): the verdicts stand"))
