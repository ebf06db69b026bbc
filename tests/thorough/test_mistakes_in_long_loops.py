"""Mistakes in what a long loop carries from one iteration to the next are named."""

from __future__ import annotations

import pytest
from helpers.verdicts import Rule, assert_named
from test_named_paths import GATED, MOMENTS, decaying, gated

from grader.course.exercise import Exercise


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (MOMENTS, decaying((1.0, 1.0)), "missing-local"),
        (GATED, gated, "missing-path: is missing"),
    ],
)
def test_a_slip_in_what_a_loop_hands_on_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    """Also where the loop begins with a value that is made in front of it, and where it hands on several."""
    assert_named(exercise, rule, name)
