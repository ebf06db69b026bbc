"""The commands for authors: begin an exercise, derive what learners are given, and prove that the course is sound."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def new(
    name: Annotated[str, typer.Argument(metavar="EXERCISE", help="The name of its function, such as square_grad.")],
    unit: Annotated[str, typer.Option(metavar="UNIT", help="The unit that it belongs to, such as 05_activations.")],
) -> None:
    """For authors: begin an exercise, with everything it needs, ready to fill in."""
    from grader.authoring.scaffold import add_exercise
    from grader.course.course import open_authors_course

    course = open_authors_course(Path.cwd())
    for path in add_exercise(course, name, unit):
        print(path.relative_to(course.root))
    print(f"Write your own in place of out = inp**2, and {name} into the lesson. Then: handgrad build, handgrad audit")


def build() -> None:
    """For authors: derive the stubs in exercises/ from solutions/."""
    from grader.authoring.build import build as build_course
    from grader.course.course import open_authors_course

    written = build_course(open_authors_course(Path.cwd()))
    print(*written, f"{len(written)} file(s) written." if written else "Everything is up to date.", sep="\n")


def audit() -> None:
    """For authors: prove that every exercise of the course is sound."""
    from grader.course.course import open_authors_course
    from grader.rendering.console import Spinner

    course = open_authors_course(Path.cwd())
    from grader.authoring.audit import audit as audit_course
    from grader.learner.session import Session

    with Session(course) as session, Spinner("auditing") as show:
        worker = session.warm_up()
        findings = audit_course(course, session.grader, worker, lambda exercise: show(exercise.file))
    for finding in findings:
        print(f"{finding.file}: {finding.says}")
    count = len(course.exercises)
    print(f"{len(findings)} finding(s) in {count} exercises." if findings else f"All {count} exercises are sound.")
    raise typer.Exit(1 if findings else 0)
