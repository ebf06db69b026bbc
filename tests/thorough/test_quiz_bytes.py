"""`handgrad quiz` when what is typed is no text."""

from __future__ import annotations

import subprocess

import pytest
from test_quiz_session import HANDGRAD, ID, UNIT, course

from grader.course import Course


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
