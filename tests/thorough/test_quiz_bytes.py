"""`handgrad quiz` when what is typed is no text."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
from test_quiz_session import HANDGRAD, ID, UNIT, Terminal, answers, course, terminal

from grader.course.course import Course


@pytest.mark.parametrize("typed", [b"\xff\xfe\n", b"\x00\n", b"\x1b[31m\n", b"x" * 200_000 + b"\n", b"\xe2\x80\xae\n"])
def test_bytes_that_nobody_types_do_no_harm(course: Course, typed: bytes) -> None:
    before = course.find(ID).path.read_text()
    typed = b"\n" + typed * 2 + b"0.004\nq\n"
    done = subprocess.run([*HANDGRAD, "quiz", UNIT], cwd=course.root, input=typed, capture_output=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\x1b[31m" not in done.stdout
    assert b"Right. " in done.stdout
    assert course.find(ID).path.read_text() == before.replace("how_far: null", "how_far: 0.004")


@pytest.mark.parametrize(("keys", "code"), [("\x04", 1), ("\x03", 130)], ids=["Ctrl-D", "Ctrl-C"])
def test_control_keys_leave_with_everything_saved(
    terminal: Callable[..., Terminal], course: Course, keys: str, code: int
) -> None:
    one = terminal(UNIT)
    one.until("answer> ")
    one.type("\n")
    one.until("how_far")
    one.until("answer> ")
    one.type("0.004\n")
    one.until("3 of 12")
    one.until("answer> ")
    if keys == "\x03":
        time.sleep(1)  # a signal that comes while the prompt is still being printed waits for the next key
        os.killpg(one.process.pid, signal.SIGINT)
    else:
        one.type(keys)
    shown = one.until("go on: handgrad quiz 01_slopes")
    assert "1 of 12" in shown
    assert "Traceback" not in shown
    assert one.code() == code
    assert answers(course) == {"how_far": "0.004"}
