"""The command `handgrad card`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .lesson import units


def card(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="[UNIT]", help="A unit, such as 04_linear or 4; the last with something solved if left out.",
            autocompletion=units,
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the picture goes; into .handgrad/ if left out.")
    ] = None,
) -> None:  # fmt: skip
    """Show a unit's card: what you solved, which mistakes you met and overcame; as text, and as a picture to share."""
    from grader.atomic_files import FOLDER, write_atomically
    from grader.course import open_course
    from grader.learner.card import card_lines, card_of, card_svg
    from grader.learner.console import print_lines
    from grader.learner.lesson import unit_named
    from grader.learner.progress import Progress

    course = open_course(Path.cwd())
    progress = Progress.load(course.root)
    cards = [card_of(course, progress, each.id) for each in course.config.units]
    wanted = unit_named(course, unit) if unit else next((each.unit for each in reversed(cards) if each.solved), None)
    found = next((each for each in cards if each.unit == wanted), cards[0])
    picture = out or course.root / FOLDER / f"card_{found.unit}.svg"
    write_atomically(picture, card_svg(found).encode())
    print_lines(
        [*card_lines(found), ((f"picture: {picture}", "dim"),), *(((note, "todo"),) for note in progress.notes)]
    )
