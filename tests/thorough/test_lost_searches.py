"""Verdicts stand when the process is lost that looks for mistakes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.courses import solution
from helpers.grading import codes
from test_grading_pool import NAME, a_class, graded, kill, lose_the_search

from grader.course.course import Course
from grader.diagnosis.mistake import Mistake
from grader.judging.judge import Judge
from grader.reference import trials
from grader.sandbox.source_text import Part


def test_verdicts_stand_when_the_search_for_mistakes_is_lost(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """By SIGKILL; `thorough/test_every_loss.py` has other ways."""
    lose_the_search(kill, "the grading process was lost (it ended with -9)", course, monkeypatch)


def test_mistakes_are_named_when_the_search_is_lost_once(
    course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever ends a process from outside takes nothing from the student whose mistakes it looks for."""
    causes, lost = Judge._causes, tmp_path / "lost"

    def lost_once(self: Judge, failures: Mapping[str, Mistake | None]) -> dict[str, Mistake | None]:
        if not lost.exists():
            lost.touch()
            kill()
        return causes(self, failures)

    monkeypatch.setattr(Judge, "_causes", lost_once)
    wrong = solution(course, NAME).replace(b"out.g.sum(0)", b"out.g.mean(0)")
    (found,) = graded(course, [Part(NAME, wrong)])[0]
    assert lost.exists()
    assert codes(found) == {"inp.g": None, "w.g": None, "b.g": "mean-for-sum"}
    assert found.notes == ()


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
