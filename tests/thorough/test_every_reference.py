"""Torch autograd, finite differences and torch's own gradcheck agree on every trial of every exercise."""

from __future__ import annotations

import pytest
from test_reference import EXERCISES, assert_confirmed, trials_of

from grader.course import Course

SEEDS = (0, 1, 2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_references_agree_with_finite_differences_and_gradcheck(exercise_id: str, seed: int, course: Course) -> None:
    declaration, trials = trials_of(course, exercise_id, seed)
    for trial in trials:
        if not trial.metered:
            assert_confirmed(declaration, trial)
