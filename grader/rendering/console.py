"""Prints reports and lists on the terminal, and a spinner where somebody is watching."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from grader.course.course import CourseExercise

from .render_text import Line

if TYPE_CHECKING:
    from .picture_data import ExercisePictures

STYLES = {
    "bold": "bold", "good": "green", "bad": "red", "todo": "yellow", "dim": "dim", "mark": "bold magenta",
    "cold1": "white on color(60)", "cold2": "white on color(61)", "cold3": "white on color(26)",
    "cold4": "bold white on color(27)",
    "hot1": "white on color(95)", "hot2": "white on color(130)", "hot3": "white on color(166)",
    "hot4": "bold white on color(202)",
}  # fmt: skip
MAX_WIDTH = 100
ACCESSIBLE = "ACCESSIBLE"
OFF = ("", "0")


def drawn(seen: ExercisePictures, width: int) -> Iterator[Line]:
    """The pictures of one exercise; in plain mode, the same in words."""
    if is_plain():
        from .picture_text import pictures_in_words as lines
    else:
        from .picture_text import picture_lines as lines
    yield from lines(seen, width)


def report_width() -> int:
    """How wide the report is."""
    return min(terminal().width, MAX_WIDTH)


def terminal() -> Console:
    """The terminal that reports are printed on."""
    return Console(highlight=False, soft_wrap=True)


def print_lines(lines: Iterable[Line]) -> None:
    """Put lines on the terminal."""
    console = terminal()
    for line in lines:
        console.print(styled(line))


def styled(line: Line, link: CourseExercise | None = None) -> Text:
    """A line with its styles.

    Args:
        link: its file opens at a click wherever it is named, in terminals that can.
    """
    text = Text.assemble(*[(text, STYLES.get(style, "")) for text, style in line])
    if link is not None:
        text.highlight_words([link.file], f"link {link.path.as_uri()}")
    return text


class Spinner:
    """A line on stderr that says what is going on, where somebody is watching."""

    def __init__(self, what: str) -> None:
        self.what = what
        watched = sys.stderr.isatty() and not is_plain()
        self.status = Console(stderr=True).status(what) if watched else None

    def __enter__(self) -> Any:
        if self.status is not None:
            self.status.start()
        return self.say

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def say(self, detail: str) -> None:
        """Say what is being done now."""
        if self.status is not None:
            self.status.update(f"{self.what} {detail}")


def is_plain() -> bool:
    """Whether somebody asked for plain text: by `--plain`, by ACCESSIBLE=1, or with a terminal that only prints."""
    return os.environ.get(ACCESSIBLE, "") not in OFF or os.environ.get("TERM") == "dumb"


def ask_for_plain() -> None:
    """What `--plain` does, for this program and those that it starts."""
    os.environ[ACCESSIBLE] = "1"
