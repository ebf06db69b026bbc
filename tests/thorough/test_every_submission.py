"""The submissions that the short suite leaves out, each with its expected codes."""

from __future__ import annotations

import pytest
from corpus import LATER, SUBMISSIONS, found_codes

from grader.course import Course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker


@pytest.mark.parametrize("name", sorted(LATER))
def test_every_answer_gets_its_expected_code(name: str, course: Course, grader: Grader, worker: Worker) -> None:
    submission = SUBMISSIONS[name]
    assert submission.mismatches(found_codes(submission, course, grader, worker)) == {}
