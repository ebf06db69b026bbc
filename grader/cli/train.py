"""The command `handgrad train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .lesson import units

STOPPED = 130


def train(
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="A unit, such as 07_network or 7.", autocompletion=units)],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the picture goes; into .handgrad/ if left out.")
    ] = None,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")
    ] = "text",
) -> None:
    """Train a model with your own gradients, beside torch's: 07_network, 12_attention or 13_engine."""
    from grader.course.course import open_course
    from grader.files import FOLDER, write_atomically
    from grader.learner.check_terminal import check_and_record
    from grader.learner.lesson import unit_named
    from grader.learner.session import Session

    course = open_course(Path.cwd())
    wanted = unit_named(course, unit)
    with Session(course) as session:
        session.warm_up()
        from grader.learner import training_svg, training_terminal
        from grader.learner.train import train as trained_with
        from grader.learner.trained import load_training

        exercises = [course.find(name) for name in load_training(course, wanted).exercises]
        results = check_and_record(session, exercises)
        with training_terminal.shown_live(quiet=output == "json") as on_part:
            found = trained_with(course, wanted, results, session.warm_up(), on_part)
    picture = out or course.root / FOLDER / f"train_{wanted}.svg"
    write_atomically(picture, training_svg.drawn(found).encode())
    weights = picture.with_suffix(".npz")
    write_atomically(weights, found.weights_file())
    if output == "json":
        print(training_terminal.as_json(found, picture, weights))
    else:
        training_terminal.print_trained(found, picture, weights)
    raise typer.Exit(STOPPED if found.stopped else 0 if found.reached and found.parted is None else 1)
