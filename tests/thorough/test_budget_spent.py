"""A wrong answer for which the whole budget of the search is spent."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.courses import solution

from grader.course.course import Course
from grader.diagnosis import diagnose
from grader.diagnosis.case import Case
from grader.diagnosis.search import MOST_WORK
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

FORGETS = "c * f * (1 - f)", "c * f.sigmoid()"


def test_an_answer_that_nothing_explains_ends_in_facts_and_costs_nobody_else_anything(
    course: Course, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget is counted in work: what was graded before, and how busy the machine is, changes no record."""
    right, explain, work = solution(course, "lstm_step_grad").decode(), diagnose.explain, list[float]()
    assert FORGETS[0] in right
    wrong, exercise = right.replace(*FORGETS).encode(), course.find("lstm_step_grad")

    def watched(case: Case, *given: Any, **options: Any) -> Any:
        explanations = explain(case, *given, **options)
        work.append(case.work)
        return explanations

    monkeypatch.setattr(diagnose, "explain", watched)
    cold = Grader(1)
    results = [cold.grade(exercise, wrong, worker), cold.grade(exercise, wrong, worker)]
    assert results[0].record == results[1].record
    assert results[0].notes == ()
    assert {answer.name for answer in results[0].answers if answer.status == "passed"} == {"c.g"}
    assert {answer.code for answer in results[0].answers if answer.name != "c.g"} == {"unknown"}
    assert 0 < work[0] == work[1] < 2 * MOST_WORK
