"""The command `handgrad lesson`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from grader.errors import HandgradError


def units(incomplete: str) -> list[str]:
    """Units, for shell completion."""
    from grader.course.course import open_course

    try:
        units = open_course(Path.cwd()).config.units
    except HandgradError:
        return []
    return [unit.id for unit in units if unit.id.startswith(incomplete)]


def lesson(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="[UNIT]", help="A unit, such as 04_linear or 4; the next one if left out.", autocompletion=units
        ),
    ] = "",
    browser: Annotated[bool, typer.Option("--browser", help="Open it in the browser, with its pictures.")] = False,
) -> None:
    """Read a unit's lesson, in the terminal or in the browser."""
    from grader.course.course import open_course
    from grader.learner import lesson as lessons
    from grader.learner.progress import Progress, next_exercise
    from grader.rendering.console import is_plain, print_lines, terminal

    course = open_course(Path.cwd())
    following = next_exercise(Progress.load(course.root), course.exercises) or course.exercises[0]
    wanted = lessons.unit_named(course, unit) if unit else following.unit
    if browser:
        print_lines([((lessons.open_in_browser(course, wanted), ""),)])
        return
    text, console = lessons.lesson_text(course, wanted), terminal()
    if not sys.stdout.isatty():
        print(text, end="")
    elif is_plain() or os.name == "nt":
        lessons.print_in(console, text)
    else:
        os.environ.setdefault("LESS", "FRX")  # a page at a time, with its styles
        with console.pager(styles=True):
            lessons.print_in(console, text)
