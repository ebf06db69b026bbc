"""The commands for authors: begin an exercise, derive what learners are given, and prove that the course is sound."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.errors import UsageError
from grader.safe_text import print_message

MOST_SUBMISSIONS = 300  # that audit runs if no exercise is named: half a minute on two cores


def new(
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="The unit that it belongs to, such as 05_activations; begun if new.")
    ],
    name: Annotated[
        str, typer.Argument(metavar="[EXERCISE]", help="The name of its function, such as square_grad.")
    ] = "",
    quiz: Annotated[bool, typer.Option("--quiz", help="Begin a quiz of the unit.")] = False,
) -> None:
    """For authors: begin an exercise, a unit or a quiz, with everything it needs, ready to fill in."""
    from grader.authoring.scaffold import add_exercise
    from grader.course.course import open_authors_course

    if not name and not quiz:
        raise UsageError("Name an exercise, such as handgrad new square_grad --unit 01_first, or add --quiz.")
    course = open_authors_course(Path.cwd())
    for path in add_exercise(course, name, course.config.unit_id(unit), quiz=quiz):
        print(path.relative_to(course.root))
    own = (
        f"Write your own in place of out = inp**2, and {name} into the lesson." if name else "Write your own questions."
    )
    print_message(f"{own} Then: handgrad build, handgrad audit")


def build() -> None:
    """For authors: derive the stubs in exercises/ from solutions/."""
    from grader.authoring.build import build as build_course
    from grader.course.course import open_authors_course

    written = build_course(open_authors_course(Path.cwd()))
    print(*written, f"{len(written)} file(s) written." if written else "Everything is up to date.", sep="\n")


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TARGET]...", help="Exercises or units (04_linear or 4); all if left out."),
    ] = None,
    pages: Annotated[
        bool, typer.Option("--pages", help="Run every page of submissions, also in a large course.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Audit with another draw of the inputs than usual.")
    ] = 1,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")
    ] = "text",
) -> None:
    """For authors: prove that every exercise of the course is sound.

    The submissions in tests/learners are graded too. In a course with many, those of the exercises that you name.
    """
    from grader.course.course import open_authors_course
    from grader.rendering.console import Spinner

    course = open_authors_course(Path.cwd())
    exercises = course.select(targets or [])
    from grader.authoring.audit import audit as audit_course
    from grader.authoring.audit import read_pages, run_pages
    from grader.learner.session import Session

    with Spinner("auditing") as show:
        with Session(course, seed=seed) as session:
            findings = audit_course(course, session.grader, session.warm_up(), show, exercises if targets else None)
        submissions, problems = read_pages(course, exercises)
        findings += problems
        count = sum(map(len, submissions.values()))
        if not (is_left_out := not (targets or pages) and count > MOST_SUBMISSIONS):
            findings += run_pages(submissions, show, seed)
    if output == "json":
        listed = [{"file": finding.file, "says": finding.says} for finding in findings]
        names = [exercise.id for exercise in exercises]
        print(json.dumps({"exercises": names, "findings": listed, "submissions_not_run": count * is_left_out}))
        raise typer.Exit(1 if findings else 0)
    for finding in findings:
        print_message(f"{finding.file}: {finding.says}")
    if is_left_out:
        print_message(f"{count} submissions were not run: name a unit, or add --pages.", sys.stderr)
    known = f"in {len(exercises)} exercise{'s' * (len(exercises) != 1)}."
    sound = "The exercise is sound." if len(exercises) == 1 else f"All {len(exercises)} exercises are sound."
    if is_left_out:
        sound = f"{sound[:-1]}, without their submissions."
    print(f"{len(findings)} finding{'s' * (len(findings) > 1)} {known}" if findings else sound)
    raise typer.Exit(1 if findings else 0)
