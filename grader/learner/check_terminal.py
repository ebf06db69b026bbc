"""Checks a learner's files at the command line, remembers the verdicts, and prints them on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from grader.course import CourseExercise
from grader.picture.picture_data import ExercisePictures
from grader.results import ExerciseResult

from .console import Spinner, print_json, print_report
from .session import Session


def check_and_record(
    session: Session, chosen: Sequence[CourseExercise], album: list[ExercisePictures] | None = None
) -> list[ExerciseResult]:
    """Check exercises and record the verdicts.

    Args:
        album: takes the pictures of each exercise, if there is one.
    """
    if not all(exercise.is_quiz for exercise in chosen):
        session.warm_up()
    if album is None:
        session.expect(chosen)
    results = []
    try:
        with Spinner("checking") as say:
            for exercise in chosen:
                say(exercise.file)
                if album is None:
                    results.append(session.check(exercise))
                else:
                    result, seen = session.check_with_pictures(exercise)
                    results.append(result)
                    album.append(seen)
                session.progress.record(exercise, results[-1])
    except KeyboardInterrupt:
        print("handgrad: stopped. What was finished is kept.", file=sys.stderr)
        raise
    finally:
        session.progress.save()
    return results


def last_result(session: Session, exercise: CourseExercise) -> ExerciseResult:
    """The last verdict if the file is still the same, else a new one."""
    known = session.progress.result(exercise)
    return known if known is not None else check_and_record(session, [exercise])[0]


def print_results(
    session: Session,
    chosen: Sequence[CourseExercise],
    results: Sequence[ExerciseResult],
    album: Sequence[ExercisePictures] | None,
    format: str,
) -> None:
    """Print the verdicts on stdout, with the pictures if there are any."""
    if format == "html":
        from .check_html import check_page

        print(check_page(session.course, chosen, results, album or ()), end="")
    elif format == "json":
        print_json(session.course, results, session.grader.seed, album)
    else:
        print_report(session, chosen, results, album, list_all=len(chosen) > 1)
