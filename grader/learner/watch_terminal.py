"""The terminal of watch mode: reads key presses in a thread, and shows one text at a time in pages.

In plain mode whole lines are read, and each text is printed below the one before.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import ControlType, Segment, Segments

from grader.course.course import CourseExercise
from grader.rendering.console import styled_text, terminal
from grader.rendering.render_text import Line

INPUT_END, ENTER, BACKSPACE, ESCAPE = "", "enter", "backspace", "escape"
UP, DOWN, PAGE_UP, PAGE_DOWN = "up", "down", "page up", "page down"
FORWARD, BACK = (" ", PAGE_DOWN), ("u", PAGE_UP)
ERASE_LINE = Control((ControlType.ERASE_IN_LINE, 0)).segment
ERASE_BELOW = Segment("\x1b[J", None, [(ControlType.ERASE_IN_LINE, 0)])
_SEQUENCE = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_NAMES = {
    "\r": ENTER, "\n": ENTER, "\x7f": BACKSPACE, "\b": BACKSPACE, "\x1b": ESCAPE,
    "\x1b[A": UP, "\x1bOA": UP, "\x1b[B": DOWN, "\x1bOB": DOWN, "\x1b[5~": PAGE_UP, "\x1b[6~": PAGE_DOWN,
}  # fmt: skip
_WINDOWS_NAMES = {"H": UP, "P": DOWN, "I": PAGE_UP, "Q": PAGE_DOWN}
OnKey = Callable[[str], None]
Body = Sequence[Line | RenderableType]
Rows = list[list[Segment]]


class TerminalModes:
    """Switch the terminal between single keys without an echo and the modes that it had before.

    Args:
        whole_lines: never switch: lines are typed, and ended with Enter.
    """

    def __init__(self, whole_lines: bool) -> None:
        """Note the modes that the terminal has now, to restore them later (not on Windows).

        With `whole_lines`, `enter` changes nothing.
        """
        self.whole_lines = whole_lines
        self.before = None
        if sys.platform != "win32":
            import termios

            self.before = termios.tcgetattr(sys.stdin.fileno())

    def enter(self) -> None:
        """Switch to single keys; call this again after another program has used the terminal."""
        if sys.platform != "win32" and not self.whole_lines:
            import termios
            import tty

            _retry_when_interrupted(lambda: tty.setcbreak(sys.stdin.fileno(), termios.TCSADRAIN))

    def leave(self) -> None:
        """Restore the modes that the terminal had before."""
        if sys.platform != "win32" and (before := self.before) is not None:
            import termios

            with contextlib.suppress(termios.error):  # the terminal is gone
                _retry_when_interrupted(lambda: termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before))


def _retry_when_interrupted(change: Callable[[], object]) -> None:
    """Change the terminal's modes, again and again while a signal interrupts that, as at Ctrl-Z and `fg`."""
    import termios

    while True:
        try:
            change()
            return
        except termios.error as error:
            if error.args[0] != errno.EINTR:
                raise


@contextlib.contextmanager
def keyboard(on_key: OnKey, *, whole_lines: bool = False) -> Iterator[TerminalModes]:
    """Read keys from the terminal in a thread until the context is left; Ctrl-C and Ctrl-Z still send signals.

    Args:
        on_key: called in that thread with each key: a character, the name of a key such as `ENTER`, or `INPUT_END`
            once the terminal is closed.
        whole_lines: read lines, and call `on_key` with each of them; an empty one is `ENTER`.

    Yields:
        The modes of the terminal, to leave and enter again if another program is to use it.
    """
    modes, stop = TerminalModes(whole_lines), threading.Event()
    listen = _read_windows_keys if sys.platform == "win32" else _read_posix_keys
    woken, wake = os.pipe()
    thread = threading.Thread(target=listen, args=(on_key, stop, woken, whole_lines), daemon=True)
    modes.enter()
    thread.start()
    try:
        yield modes
    finally:
        stop.set()
        os.close(wake)
        thread.join()
        os.close(woken)
        modes.leave()


def keys_in(text: str) -> Iterator[str]:
    """Yield the keys for which a terminal sends this text, in their order.

    A key is a printable character as it is, or a name such as `ENTER` or `UP` ("enter", "up"); escape sequences and
    control characters without a name are skipped.
    """
    for sequence in _SEQUENCE.findall(text):
        if name := _NAMES.get(sequence, sequence if sequence.isprintable() else None):
            yield name


def _read_posix_keys(on_key: OnKey, stop: threading.Event, woken: int, whole_lines: bool) -> None:
    """Read keys from stdin until `stop` is set or the input ends, on Linux and macOS; call `on_key` with each.

    Args:
        on_key: receives the name of a key, a whole line, or `INPUT_END`.
        stop: ends the reading.
        woken: a file descriptor; when it is closed at its other end, `stop` is looked at.
        whole_lines: whether to read lines, each without the spaces around it, and not single keys.
    """
    import select

    decode, fd = codecs.getincrementaldecoder("utf-8")("replace").decode, sys.stdin.fileno()
    while not stop.is_set():
        if fd not in select.select([fd, woken], [], [])[0]:
            continue
        try:
            data = os.read(fd, 4096)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            on_key(INPUT_END)
            return
        text = decode(data)
        for key in (line.strip() or ENTER for line in text.splitlines()) if whole_lines else keys_in(text):
            on_key(key)


def _read_windows_keys(on_key: OnKey, stop: threading.Event, _woken: int, whole_lines: bool) -> None:
    """Read keys from the console until `stop` is set, on Windows; call `on_key` with each.

    Args:
        on_key: receives the name of a key, a whole line, or `INPUT_END`.
        stop: ends the reading.
        _woken: not used, since the console is polled.
        whole_lines: whether to read lines, each without the spaces around it, and not single keys.
    """
    import msvcrt
    import time

    typed = ""
    while not stop.is_set():
        if not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
            time.sleep(0.05)  # Windows has nothing to wait for
            continue
        read = msvcrt.getwche if whole_lines else msvcrt.getwch  # type: ignore[attr-defined,unused-ignore]
        key = str(read())
        if whole_lines and key == "\r":
            print()
            on_key(typed.strip() or ENTER)
            typed = ""
        elif whole_lines:
            typed = typed[:-1] if key == "\b" else typed + key
        elif key in "\x00\xe0":  # a key without a character has a second code
            on_key(_WINDOWS_NAMES.get(str(read()), ESCAPE))
        else:
            for name in keys_in(key):
                on_key(name)


class Screen(Protocol):
    """Show the texts of a watch; one class for each mode implements it."""

    def show(self, body: Body, message: Sequence[Line], keys: Sequence[Line], link: CourseExercise) -> None:
        """Show a text, a message below it, and the legend of the keys.

        Args:
            body: the text.
            message: describes what has just happened.
            keys: the legend.
            link: the exercise whose file name becomes a link to the file, in terminals that can.
        """

    def clear(self) -> None:
        """Clear the terminal, because another program has written to it."""

    def begin(self) -> None:
        """Let the next `show` begin at the first line, even if the text is the same; show nothing now."""

    def turn(self, key: str) -> bool:
        """Scroll the text if `key` is one that scrolls; return whether it is."""


class DrawnScreen:
    """Draw texts over each other in the terminal's window.

    A text that does not fit is cut into pages; the message and the keys are on each of them.
    """

    def __init__(self) -> None:
        """Begin at the first line of an empty text."""
        self.top, self.room, self.count = 0, 1, 0

    def show(self, body: Body, message: Sequence[Line], keys: Sequence[Line], link: CourseExercise) -> None:
        """Draw the page of a text that begins at the current line, with a message and the legend of the keys below it.

        Args:
            body: the text.
            message: describes what has just happened; cut if the terminal is too low.
            keys: the legend.
            link: the exercise whose file name becomes a link to the file, in terminals that can.
        """
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
            shown += _rows(console, [self._position()], link)[:1]
        *drawn, last = [*shown, *below]
        segments = [Control.home().segment]
        for row in drawn:  # erased first: behind a full row, the last character would go
            segments += [ERASE_LINE, *row, Segment.line()]
        console.print(Segments([*segments, ERASE_BELOW, *last]), end="")

    def _position(self) -> Line:
        """Return the line that says which lines of the text are shown, and which keys scroll."""
        last = min(self.top + self.room, self.count)
        above: Line = (("   u", "bold"), (": more above", "")) if self.top else ()
        below: Line = (("   Space", "bold"), (": more below", "")) if last < self.count else ()
        position = f"-- lines {self.top + 1}-{last} of {self.count}"
        return ((position, "todo"), *below, *above, ("   arrows", "bold"), (": a line", ""))

    def clear(self) -> None:
        """Clear the terminal."""
        terminal().clear()

    def begin(self) -> None:
        """Go to the first line."""
        self.top = 0

    def turn(self, key: str) -> bool:
        """Scroll by a page or a line if the key does that and the text is too long to be seen.

        Return whether it did.
        """
        steps = dict.fromkeys(FORWARD, self.room - 1) | dict.fromkeys(BACK, 1 - self.room) | {DOWN: 1, UP: -1}
        if key not in steps or self.count <= self.room:
            return False
        self._go_to(self.top + (steps[key] or 1))
        return True

    def _go_to(self, top: int) -> None:
        """Scroll to the line of index `top`, or as far as the text goes."""
        self.top = max(min(top, self.count - self.room), 0)


class PlainScreen:
    """Print each text below the one before; nothing is drawn over, repeated or cut.

    Args:
        out: prints one text.
    """

    def __init__(self, out: Callable[[str], None] = print) -> None:
        """Begin with nothing printed; `out` prints a text."""
        self.out = out
        self.begin()

    def show(self, body: Body, message: Sequence[Line], keys: Sequence[Line], link: CourseExercise) -> None:
        """Print the text and the message, each unless it was printed last; the keys are not printed.

        Args:
            body: the text.
            message: describes what has just happened.
            keys: not read.
            link: the exercise whose file name becomes a link to the file, in terminals that can.
        """
        console = terminal()
        for number, lines in enumerate((body, message)):
            text = "\n".join("".join(segment.text for segment in row).rstrip() for row in _rows(console, lines, link))
            if text and text != self.printed[number]:
                self.out(f"\n{text}" if number == 0 else text)
            self.printed[number] = text

    def clear(self) -> None:
        """Do nothing: what was printed stays."""

    def begin(self) -> None:
        """Let the next `show` print its text and message even if they are the same; print nothing now."""
        self.printed = ["", ""]

    def turn(self, key: str) -> bool:
        """Let the next message be printed even if it equals the last one, as it answers this key.

        Return false: this screen has no pages to turn.
        """
        self.printed[1] = ""
        return False


def _rows(console: Console, body: Body, link: CourseExercise) -> Rows:
    """Return lines as rows of the terminal: a line that is wider takes several rows.

    Args:
        console: the terminal, whose width counts.
        body: the lines.
        link: the exercise whose file name becomes a link to the file, in terminals that can.
    """
    options = console.options.update(highlight=False)
    rows: Rows = []
    for part in body:
        rows += console.render_lines(styled_text(part, link) if isinstance(part, tuple) else part, options, pad=False)
    return rows
