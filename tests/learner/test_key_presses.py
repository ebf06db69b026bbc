"""What a terminal sends becomes keys: none is lost, and none is made up."""

from __future__ import annotations

import errno
import os
import termios
import tty

import pytest

from grader.learner.key_presses import BACKSPACE, DOWN, ENTER, ESCAPE, PAGE_DOWN, PAGE_UP, UP, Modes, keys_in
from grader.learner.watch_question import Question


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


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["l", "i", "n", BACKSPACE, "x", UP, ENTER], "lix"),
        ([ENTER], ""),
        (["l", ESCAPE], ""),
        ([BACKSPACE, "a", ENTER], "a"),
    ],
)
def test_a_word_is_typed_until_enter_or_left(keys: list[str], answer: str) -> None:
    question = Question("Where?", lambda _: None, is_word=True)
    assert [question.press(key, whole_lines=False) for key in keys] == [False] * (len(keys) - 1) + [True]
    assert question.typed == answer


def test_one_key_is_an_answer_and_so_is_a_line() -> None:
    question = Question("Sure?", lambda _: None)
    assert question.press("y", whole_lines=False)
    assert question.typed == "y"
    question = Question("Where?", lambda _: None, is_word=True)
    assert question.press("lin_grad", whole_lines=True)
    assert question.typed == "lin_grad"


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
        modes = Modes(whole_lines=False)
        modes.enter()
        assert not termios.tcgetattr(slave)[3] & termios.ECHO
        modes.leave()
        assert termios.tcgetattr(slave)[3] & termios.ECHO
    assert len(tries) == 3
