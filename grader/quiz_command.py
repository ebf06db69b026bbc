"""The command `handgrad quiz`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import UsageError

if TYPE_CHECKING:
    from .course import Course, CourseExercise


def quiz(
    unit: Annotated[str, typer.Argument(metavar="[UNIT]", help="A unit, such as 04_linear; the next open one.")] = "",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin again with other numbers; the old sheet is kept.")
    ] = False,
) -> None:
    """Take a unit's quiz, one question at a time."""
    from .course import open_course

    course = open_course(Path.cwd())
    found = quizzes(course, unit)
    raise typer.Exit(_take(course, found, bool(unit), fresh))


def quizzes(course: Course, unit: str) -> list[CourseExercise]:
    """The quiz of a unit, or all of them if none is named.

    Raises:
        UsageError: there is no such quiz.
    """
    found = [exercise for exercise in course.select([unit] if unit else []) if exercise.is_quiz]
    if not found:
        units = [exercise.unit for exercise in course.exercises if exercise.is_quiz]
        raise UsageError(f"{unit or 'this course'} has no quiz. Units with one: {', '.join(units) or 'none yet'}.")
    return found


def _take(course: Course, found: list[CourseExercise], named: bool, fresh: bool) -> int:
    from . import workspace
    from .quiz_session import QuizSession
    from .quiz_terminal import chosen, take
    from .session import Session

    variant = workspace.new_variant()
    sittings = [QuizSession(exercise, variant) for exercise in found]
    with Session(course) as session:
        taking = sittings[0] if named else chosen(session, sittings)
        if fresh:
            workspace.reset(taking.exercise, variant)
        return take(session, taking)
