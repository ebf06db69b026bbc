"""`pytest exercises/` over the whole course: the first screen of a newcomer, and the last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golden import assert_golden
from test_pytest_plugin import Run, assert_first_screen, kept, run

from grader.authoring.build import worked_text
from grader.course.course import Course

pytest_plugins = ["pytester"]


@pytest.fixture
def course(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, new_workspace: Callable[..., Course]) -> Course:
    """A learner's workspace with all of its units, and the folder we stand in."""
    course = new_workspace(pytester.path / "ws")
    monkeypatch.chdir(course.root)
    return course


@pytest.mark.parametrize("columns", [80, 60])
def test_the_first_screen_fits_a_small_terminal(run: Run, course: Course, columns: int) -> None:
    lines = assert_first_screen(run, course, columns)
    progress = next(place for place, line in enumerate(lines) if "- progress -" in line)
    assert_golden(f"pytest_first_screen_{columns}", "\n".join(lines[progress:-1]))


def test_everything_solved(run: Run, course: Course) -> None:
    for exercise in course.exercises:
        exercise.path.write_text(worked_text(exercise), encoding="utf-8")
    result = run("exercises/", "-q")
    assert result.ret == 0
    assert "next:" not in (text := str(result.stdout))
    assert "Every exercise is solved." in text
    assert text.count("##############") == len(course.config.units)
