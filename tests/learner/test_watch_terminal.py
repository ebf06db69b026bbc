"""The terminal of watch mode: every line of a text can be reached in a window of any size, and no key is lost."""

from __future__ import annotations

import errno
import io
import os
import termios
import tty

import pytest
from rich.console import Console

from grader.course.course import Course
from grader.learner import watch_terminal
from grader.learner.watch_terminal import (
    BACKSPACE,
    DOWN,
    ENTER,
    ESCAPE,
    PAGE_DOWN,
    PAGE_UP,
    UP,
    DrawnScreen,
    PlainScreen,
    TerminalModes,
    keys_in,
)
from grader.rendering.render_text import Line

KEYS: list[Line] = [(("q quit", ""),)]


def lines(count: int) -> list[Line]:
    return [((f"line {number}", ""),) for number in range(1, count + 1)]


class Window:
    """A terminal of some size, and what was last drawn in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, width: int, height: int) -> None:
        self.out = io.StringIO()
        console = Console(file=self.out, force_terminal=True, width=width, height=height, color_system=None)
        monkeypatch.setattr(watch_terminal, "terminal", lambda: console)

    def rows(self) -> list[str]:
        """The rows drawn, without the codes that erase."""
        drawn = self.out.getvalue().rpartition("\x1b[H")[2]
        return [row.replace("\x1b[0K", "").replace("\x1b[J", "").rstrip() for row in drawn.split("\n")]


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 24), (100, 40), (20, 8), (10, 5)])
def test_every_line_can_be_reached_and_nothing_scrolls_away(
    course: Course, monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    window, shown, exercise = Window(monkeypatch, width, height), DrawnScreen(), course.find("slope")
    seen: list[str] = []
    shown.show(lines(70), [(("something has happened", ""),)], KEYS, exercise)
    assert "line 1" in window.rows()
    for _ in range(100):
        assert len(window.rows()) <= height
        seen += [row for row in window.rows() if row not in seen]
        if not shown.turn(" ") or "line 70" in window.rows():
            break
        shown.show(lines(70), [], KEYS, exercise)
        assert window.rows()[-1] == "q quit"
    assert {f"line {number}" for number in range(1, 71)} <= set(seen)


def test_more_is_said_where_there_is_more(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    window, shown, exercise = Window(monkeypatch, 80, 10), DrawnScreen(), course.find("slope")

    def draw() -> str:
        shown.show(lines(20), [], KEYS, exercise)
        return next(row for row in window.rows() if row.startswith("--"))

    assert draw() == "-- lines 1-7 of 20   Space: more below   arrows: a line"
    assert shown.turn(DOWN)
    assert draw() == "-- lines 2-8 of 20   Space: more below   u: more above   arrows: a line"
    assert shown.turn(PAGE_DOWN)
    assert shown.turn(PAGE_DOWN)
    assert draw() == "-- lines 14-20 of 20   u: more above   arrows: a line"
    assert shown.turn("u")
    assert shown.turn(UP)
    assert draw() == "-- lines 7-13 of 20   Space: more below   u: more above   arrows: a line"
    shown.begin()
    assert draw().startswith("-- lines 1-7")


def test_where_all_is_shown_the_keys_for_pages_are_nobodys(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    window, shown = Window(monkeypatch, 80, 10), DrawnScreen()
    shown.show(lines(3), [], KEYS, course.find("slope"))
    assert window.rows() == ["line 1", "line 2", "line 3", "", "q quit"]
    assert not any(shown.turn(key) for key in (" ", "u", UP, DOWN, "x"))


def test_a_long_line_counts_as_the_lines_that_it_takes(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    window, shown = Window(monkeypatch, 20, 10), DrawnScreen()
    shown.show([(("word " * 40, ""),)], [], KEYS, course.find("slope"))
    assert len(window.rows()) == 10
    assert window.rows()[0] == "word word word word"


def test_plain_text_is_said_once_and_a_key_is_always_answered(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    Window(monkeypatch, 80, 5)
    said: list[str] = []
    shown, exercise = PlainScreen(said.append), course.find("slope")
    not_yet: list[Line] = [(("not yet", ""),)]
    for _ in range(2):
        shown.show(lines(9), [], KEYS, exercise)
    assert said == ["\n" + "\n".join(f"line {number}" for number in range(1, 10))]
    shown.show(lines(9), not_yet, KEYS, exercise)
    shown.show(lines(9), not_yet, KEYS, exercise)
    assert not shown.turn("s")
    shown.show(lines(9), not_yet, KEYS, exercise)
    assert said[1:] == ["not yet", "not yet"]
    shown.begin()
    shown.show(lines(9), [], KEYS, exercise)
    assert len(said) == 4


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("n", ["n"]),
        ("nnh", ["n", "n", "h"]),
        ("\r", [ENTER]),
        ("\n", [ENTER]),
        ("\x1b", [ESCAPE]),
        ("\x1b[A\x1b[B\x1bOA\x1bOB", [UP, DOWN, UP, DOWN]),
        ("\x1b[5~\x1b[6~n", [PAGE_UP, PAGE_DOWN, "n"]),
        ("\x7f\b", [BACKSPACE, BACKSPACE]),
        ("\x1b[1;5C\x1b[15~\x00\x01x", ["x"]),
        ("é日", ["é", "日"]),
    ],
)
def test_what_is_sent(sent: str, keys: list[str]) -> None:
    assert list(keys_in(sent)) == keys


def test_a_signal_does_not_leave_the_terminal_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between background and foreground the system call is interrupted, and Python does not repeat it."""
    master, slave = os.openpty()
    tries, change = [], tty.setcbreak

    def interrupted(*given: int) -> None:
        tries.append(given)
        if len(tries) < 3:
            raise termios.error(errno.EINTR, "Interrupted system call")
        change(*given)

    with os.fdopen(master), os.fdopen(slave) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        monkeypatch.setattr(tty, "setcbreak", interrupted)
        modes = TerminalModes(whole_lines=False)
        modes.enter()
        assert not termios.tcgetattr(slave)[3] & termios.ECHO
        modes.leave()
        assert termios.tcgetattr(slave)[3] & termios.ECHO
    assert len(tries) == 3
