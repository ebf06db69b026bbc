"""Every fault of a quiz of which `test_quiz_grading` finds a few, and more variants of the real quizzes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import test_quiz_grading
from test_quiz_grading import FAULTS, Judge, findings, judge, real, root, sound

from grader.authoring.audit import AuditFinding
from grader.course.course import Course

__all__ = ["findings", "judge", "real", "root", "sound"]


@pytest.mark.parametrize(("old", "new", "says"), FAULTS)
def test_what_is_wrong_with_a_quiz_is_found(
    root: Path, findings: Callable[[], list[AuditFinding]], old: str, new: str, says: str
) -> None:
    test_quiz_grading.test_what_is_wrong_with_a_quiz_is_found(root, findings, old, new, says)


@pytest.mark.parametrize("variant", [0, 1, 17])
def test_right_answers_pass_in_every_variant(real: Course, judge: Judge, variant: int) -> None:
    test_quiz_grading.test_right_answers_pass_in_every_variant(real, judge, variant)
