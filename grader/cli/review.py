"""The command `handgrad review`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer


def review(
    questions: Annotated[int, typer.Option(min=0, help="How many questions to ask at most.")] = 5,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")
    ] = "text",
) -> None:
    """Go over the mistakes that you have met most: quiz questions on them, and what to write once more."""
    from grader.course.course import open_course
    from grader.learner import workspace
    from grader.learner.review import as_json
    from grader.learner.review import review as found_in
    from grader.learner.review_terminal import run_review
    from grader.learner.session import Session

    course = open_course(Path.cwd())
    with Session(course) as session:
        found = found_in(course, session.progress, questions)
        if output == "json":
            print(json.dumps(as_json(found)))
            return
        raise typer.Exit(run_review(session, found, workspace.new_variant()))
