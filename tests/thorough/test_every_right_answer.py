"""No right answer is flagged, fails or errs, under three seeds; `benchmarks/right_answers.py` tries many more."""

from __future__ import annotations

import pytest
from helpers.right_answers import deviations, right_answers

from grader.course.course import Course
from grader.sandbox.worker import Worker

SEEDS = (11, 12, 13)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_right_answer_is_accused(seed: int, course: Course, worker: Worker) -> None:
    """The corpus, the worked solutions, and what was written blind."""
    answers = right_answers(course)
    assert len(answers) >= 800
    assert list(map(str, deviations(answers, [seed], worker))) == []
