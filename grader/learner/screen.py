"""What a watch shows: a page of a text with the keys below it; in plain mode, one text after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import ControlType, Segment, Segments

from grader.course.course import CourseExercise
from grader.rendering.console import styled_text, terminal
from grader.rendering.render_text import Line

from .key_presses import DOWN, PAGE_DOWN, PAGE_UP, UP

Body = Sequence[Line | RenderableType]
Rows = list[list[Segment]]
FORWARD, BACK = (" ", PAGE_DOWN), ("u", PAGE_UP)
ERASE_LINE = Control((ControlType.ERASE_IN_LINE, 0)).segment
ERASE_BELOW = Segment("\x1b[J", None, [(ControlType.ERASE_IN_LINE, 0)])


class Screen(Protocol):
    """Where a watch shows what it has to say."""

    def show(self, body: Body, message: Sequence[Line], keys: Sequence[Line], link: CourseExercise) -> None:
        """Show a text, what has just happened, and what can be done.

        Args:
            link: its file opens at a click wherever it is named, in terminals that can.
        """

    def clear(self) -> None:
        """Somebody else has had the terminal."""

    def begin(self) -> None:
        """Another text comes next, from its beginning; or the same one, to be read once more."""

    def turn(self, key: str) -> bool:
        """Turn the pages, if that is what this key does here."""


class DrawnScreen:
    """The terminal's window, drawn over in place.

    What does not fit is cut into pages. The message and the keys are on each of them.
    """

    def __init__(self) -> None:
        self.top, self.room, self.count = 0, 1, 0

    def show(self, body: Body, message: Sequence[Line], keys: Sequence[Line], link: CourseExercise) -> None:
        console = terminal()
        rows, below = (
            _rows(console, body, link),
            _rows(console, [(), *message, *([()] if message else []), *keys], link),
        )
        below = below[: max(console.height - 3, 1)]
        self.count, self.room = len(rows), max(console.height - len(below), 1)
        if self.count > self.room:
            self.room = max(self.room - 1, 1)  # for the line that says so
        self._go_to(self.top)
        shown = rows[self.top : self.top + self.room]
        if self.count > self.room:
            shown += _rows(console, [self._place()], link)[:1]
        *drawn, last = [*shown, *below]
        segments = [Control.home().segment]
        for row in drawn:  # erased first: behind a full row, the last character would go
            segments += [ERASE_LINE, *row, Segment.line()]
        console.print(Segments([*segments, ERASE_BELOW, *last]), end="")

    def _place(self) -> Line:
        """Which lines these are, and how to see the others."""
        last = min(self.top + self.room, self.count)
        above: Line = (("   u", "bold"), (": more above", "")) if self.top else ()
        below: Line = (("   Space", "bold"), (": more below", "")) if last < self.count else ()
        return ((f"-- lines {self.top + 1} to {last} of {self.count}", "todo"), *below, *above)

    def clear(self) -> None:
        terminal().clear()

    def begin(self) -> None:
        self.top = 0

    def turn(self, key: str) -> bool:
        steps = dict.fromkeys(FORWARD, self.room - 1) | dict.fromkeys(BACK, 1 - self.room) | {DOWN: 1, UP: -1}
        if key not in steps or self.count <= self.room:
            return False
        self._go_to(self.top + (steps[key] or 1))
        return True

    def _go_to(self, top: int) -> None:
        self.top = max(min(top, self.count - self.room), 0)


class PlainScreen:
    """Text that goes on below what was there: nothing is drawn over, nothing is said twice, and nothing is cut."""

    def __init__(self, out: Callable[[str], None] = print) -> None:
        self.out = out
        self.begin()

    def show(self, body: Body, message: Sequence[Line], keys: Sequence[Line], link: CourseExercise) -> None:
        console = terminal()
        for number, lines in enumerate((body, message)):
            text = "\n".join("".join(segment.text for segment in row).rstrip() for row in _rows(console, lines, link))
            if text and text != self.said[number]:
                self.out(f"\n{text}" if number == 0 else text)
            self.said[number] = text

    def clear(self) -> None: ...

    def begin(self) -> None:
        self.said = ["", ""]

    def turn(self, key: str) -> bool:
        self.said[1] = ""  # what is said next is said to this key
        return False


def _rows(console: Console, body: Body, link: CourseExercise) -> Rows:
    """Lines as they stand on the terminal: what is wider than it takes several."""
    options = console.options.update(highlight=False)
    rows: Rows = []
    for part in body:
        rows += console.render_lines(styled_text(part, link) if isinstance(part, tuple) else part, options, pad=False)
    return rows
