"""The command `handgrad grade`: a class, however it was handed in, graded into a folder; or one submission alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.classroom.class_grading import Grading
    from grader.course.course import Course, CourseExercise
    from grader.results.records import Isolation


def grade(
    submissions: Annotated[
        Path | None,
        typer.Argument(
            help="What the class handed in: a folder with a folder or an archive for each student, or a download from "
            "Moodle, Canvas, Gradescope or GitHub as it came."
        ),
    ] = None,
    one: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Grade what one student handed in; --out names the record.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where STUDENT.json and grades.csv go; grades if left out.")] = None,
    unit: Annotated[list[str] | None, typer.Option(metavar="UNIT", help="Only this unit; may be repeated.")] = None,
    exercise: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this exercise; may be repeated.")
    ] = None,
    student: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this student; may be repeated. Other results stay.")
    ] = None,
    roster: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV of the class: results get the names that it has.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Enter 0 points for whoever handed in nothing that could be graded.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Worker processes.")] = os.cpu_count() or 1,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one exercise file.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**53 - 1, help="Repeat the run of this seed.")] = None,
    isolation: Annotated[
        Literal["box", "kernel", "seccomp", "none"] | None,
        typer.Option(help="What learner code is kept in; the strongest that this machine offers, if left out."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Grade on a Dask cluster: the address of its scheduler, its scheduler file, or local.",
        ),
    ] = None,
    gradebook: Annotated[str | None, typer.Option(metavar="URL", help="nbgrader's, to enter the scores in.")] = None,
    format: Annotated[Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")] = (
        "text"
    ),
) -> None:
    """For instructors: grade a class; one result file per student, and grades.csv."""
    from grader.classroom.class_grading import Grading
    from grader.classroom.course_choice import open_for_class
    from grader.classroom.grade_terminal import grade_with_progress, isolated_here, with_time_limit

    course = open_for_class(Path.cwd())
    course = course if timeout is None else with_time_limit(course, timeout)
    grading = Grading(workers, "none", seed, _wanted(course, unit or [], exercise or []), frozenset(student or ()))
    if one is not None:
        from grader.classroom.class_grading import grade_submission

        if submissions is not None or roster or gradebook or student or out is None:
            raise UsageError("--one PATH --out FILE grades what one student handed in: leave out what is for a class.")
        raise typer.Exit(grade_submission(course, one, out, isolated_here(grading, isolation), yes=yes))
    if submissions is None:
        raise UsageError("Name what the class handed in: handgrad grade submissions/")
    from grader.classroom.class_folder import find_submissions
    from grader.classroom.exercise_names import ExerciseNames
    from grader.classroom.roster import match_roster, read_roster
    from grader.nbgrader.gradebook_class import entering_in_gradebook

    folder = out or Path("grades")
    class_folder = find_submissions(course, submissions, folder)
    class_folder = class_folder if roster is None else match_roster(class_folder, read_roster(roster))
    names = ExerciseNames(course, grading.exercises or course.exercises)
    with (
        entering_in_gradebook(names, gradebook, class_folder.submissions, folder),
        _at(scheduler, grading, isolation) if scheduler else nullcontext(isolated_here(grading, isolation)) as grading,
    ):
        code = grade_with_progress(course, class_folder, folder, grading, yes=yes, as_json=format == "json")
    raise typer.Exit(code)


@contextmanager
def _at(scheduler: str, grading: Grading, isolation: Isolation | None) -> Iterator[Grading]:
    """The same grading on a cluster, in the isolation that is wanted, or the strongest that all its workers have."""
    from grader.classroom.dask_pool import connected

    with connected(scheduler, grading.workers) as cluster:
        found = replace(grading, cluster=cluster, isolation=cluster.isolation(isolation))
        print(f"handgrad: grading on {cluster.size}, isolated: {found.isolation}.", file=sys.stderr)
        yield found


def _wanted(course: Course, units: list[str], exercises: list[str]) -> tuple[CourseExercise, ...]:
    """The exercises that are graded; none where all are.

    Raises:
        UsageError: there is no such unit or exercise; names the nearest.
    """
    for name in units:
        if {exercise.unit for exercise in course.select([name])} != {name}:
            raise UsageError(f"{name} is no unit: name one such as {course.config.units[0].id}, or --exercise {name}.")
    chosen = [*units, *(course.find(name).id for name in exercises)]
    return course.select(chosen) if chosen else ()
