"""The command `handgrad card`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .lesson import units

WHOLE = "all"


def card(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="[UNIT|all]",
            help="A unit, such as 04_linear or 4; the last with something solved if left out. all: the whole course, "
            "as a page with your own curves, and as a picture.",
            autocompletion=units,
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the picture goes; into .handgrad/ if left out.")
    ] = None,
) -> None:  # fmt: skip
    """Show a unit's card: what you solved, which mistakes you met and overcame; as text, and as a picture to share."""
    from datetime import date

    from grader.course.course import open_course
    from grader.files import FOLDER, write_atomically
    from grader.learner.card import card_lines, card_of, card_svg
    from grader.learner.certificate import certificate_lines, certificate_page, certificate_svg
    from grader.learner.lesson import unit_named
    from grader.learner.progress import Progress
    from grader.rendering.console import print_lines

    course = open_course(Path.cwd())
    progress = Progress.load(course.root)
    cards = [card_of(course, progress, each.id) for each in course.config.units]
    if unit == WHOLE:
        files = {each.unit: course.root / FOLDER / f"train_{each.unit}.svg" for each in cards}
        curves = {name: file.read_text(encoding="utf-8") for name, file in files.items() if file.is_file()}
        lines, picture = list(certificate_lines(cards)), out or course.root / FOLDER / "certificate.svg"
        write_atomically(picture, certificate_svg(cards, date.today()).encode())
        write_atomically(picture.with_suffix(".html"), certificate_page(cards, curves, date.today()).encode())
        lines.append(((f"page: {picture.with_suffix('.html')}", "dim"),))
    else:
        last = next((each.unit for each in reversed(cards) if each.solved), None)
        wanted = unit_named(course, unit) if unit else last
        found = next((each for each in cards if each.unit == wanted), cards[0])
        lines, picture = list(card_lines(found)), out or course.root / FOLDER / f"card_{found.unit}.svg"
        write_atomically(picture, card_svg(found).encode())
    print_lines([*lines, ((f"picture: {picture}", "dim"),), *(((note, "todo"),) for note in progress.notes)])
