"""Verdicts stand when the process is lost that looks for mistakes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from test_grading_pool import a_class, graded, kill, lose_the_search

from grader.course.course import Course
from grader.reference import trials


def test_verdicts_stand_when_the_search_for_mistakes_is_lost(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """By SIGKILL; `thorough/test_every_loss.py` has other ways."""
    lose_the_search(kill, "the grading process was lost (it ended with -9)", course, monkeypatch)


def test_references_are_made_once(course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Grading processes are forked from the one that made them."""
    makers, make = tmp_path / "makers", trials.make_trials

    def made(*given: Any) -> object:
        with makers.open("a") as file:
            print(os.getpid(), file=file)
        return make(*given)

    monkeypatch.setattr(trials, "make_trials", made)
    graded(course, *a_class(course))
    assert makers.read_text().split() == [str(os.getpid())] * 2
