"""The command `handgrad quiz`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.errors import HandgradError, UsageError

if TYPE_CHECKING:
    from grader.course.course import Course, CourseExercise


def _units(incomplete: str) -> list[str]:
    """Units with a quiz, for shell completion."""
    from grader.course.course import open_course

    try:
        exercises = open_course(Path.cwd()).exercises
    except HandgradError:
        return []
    return [each.unit for each in exercises if each.is_quiz and each.unit.startswith(incomplete)]


Unit = Annotated[
    str,
    typer.Argument(
        metavar="[UNIT]", help="A unit, such as 04_linear; the next open one if left out.", autocompletion=_units
    ),
]


def quiz(
    unit: Unit = "",
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For authors: write FILE.xml for Moodle, or FILE.zip in QTI 2.1."),
    ] = None,
    variant: Annotated[int, typer.Option(min=0, help="Which numbers to export.")] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin again with other numbers; the old sheet is kept.")
    ] = False,
) -> None:
    """Take a unit's quiz, one question at a time."""
    from grader.course.course import open_authors_course, open_course

    course = open_course(Path.cwd()) if export is None else open_authors_course(Path.cwd())
    found = find_quizzes(course, unit)
    if export is not None:
        from grader.authoring.quiz_export import export_quizzes

        print("\n".join(export_quizzes(course, found, export, variant)))
        return
    raise typer.Exit(_take_quiz(course, found, bool(unit), fresh))


def find_quizzes(course: Course, unit: str) -> list[CourseExercise]:
    """The quiz of a unit, or all of them if none is named.

    Raises:
        UsageError: there is no such quiz.
    """
    found = [exercise for exercise in course.select([unit] if unit else []) if exercise.is_quiz]
    if not found:
        units = [exercise.unit for exercise in course.exercises if exercise.is_quiz]
        raise UsageError(f"{unit or 'this course'} has no quiz. Units with one: {', '.join(units) or 'none yet'}.")
    return found


def _take_quiz(course: Course, found: list[CourseExercise], named: bool, fresh: bool) -> int:
    from grader.learner import workspace
    from grader.learner.quiz_session import QuizSession
    from grader.learner.quiz_terminal import first_open_quiz, take_quiz
    from grader.learner.session import Session

    variant = workspace.new_variant()
    sittings = [QuizSession(exercise, variant) for exercise in found]
    with Session(course) as session:
        taking = sittings[0] if named else first_open_quiz(session, sittings)
        if fresh:
            backup = workspace.reset(taking.exercise, variant)
            kept = f" The old one is kept in {backup.relative_to(course.root)}." if backup else ""
            print(f"This is a new sheet, with other numbers.{kept}")
        return take_quiz(session, taking)
