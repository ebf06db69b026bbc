"""The terminal: printed lines, a spinner, and plain mode for screen readers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from grader.course.course import CourseExercise

from .render_text import Line

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


def report_width() -> int:
    """Return the width of a report in columns: the terminal's, but at most `MAX_WIDTH`."""
    return min(terminal().width, MAX_WIDTH)


def terminal() -> Console:
    """Return a rich console on standard output that neither highlights nor wraps."""
    return Console(highlight=False, soft_wrap=True)


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines on the terminal."""
    console = terminal()
    for line in lines:
        console.print(styled_text(line))


def styled_text(line: Line, link: CourseExercise | None = None) -> Text:
    """Return a line as rich text in the terminal's colours.

    Args:
        line: its parts, each with the name of a style.
        link: an exercise whose file opens at a click wherever the line names it, in terminals that can.
    """
    text = Text.assemble(*[(part, STYLES.get(style, "")) for part, style in line])
    if link is not None:
        text.highlight_words([link.file], f"link {link.path.as_uri()}")
    return text


class Spinner:
    """A context manager with a line on stderr that says what is going on; silent where stderr is no terminal.

    Entering it returns `say`.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        is_shown = sys.stderr.isatty() and not is_plain()
        self.status = Console(stderr=True).status(what) if is_shown else None

    def __enter__(self) -> Any:
        if self.status is not None:
            self.status.start()
        return self.say

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def say(self, detail: str) -> None:
        """Show what is being done now, behind the spinner's own text."""
        if self.status is not None:
            self.status.update(f"{self.what} {detail}")


def is_plain() -> bool:
    """Return whether plain text was chosen: by `--plain`, by ACCESSIBLE=1, or by a terminal that only prints."""
    return os.environ.get(ACCESSIBLE, "") not in OFF or os.environ.get("TERM") == "dumb"


def ask_for_plain() -> None:
    """Choose plain text for this process and those that it starts, as `--plain` does."""
    os.environ[ACCESSIBLE] = "1"
