"""Torch autograd, finite differences and torch's own gradcheck agree on every trial of every exercise."""

from __future__ import annotations

import pytest
from test_reference import (
    EXERCISES,
    assert_confirmed,
    test_expected_gradients_are_those_of_the_loss,
    test_references_are_double_and_shaped_like_their_owner,
    test_the_same_seed_gives_the_same_trials,
    test_upstream_gradients_are_random_never_ones,
    trials_of,
)

from grader.course import Course

SEEDS = (0, 1)


@pytest.fixture(params=EXERCISES)
def exercise_id(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("seed", SEEDS)
def test_references_agree_with_finite_differences_and_gradcheck(exercise_id: str, seed: int, course: Course) -> None:
    declaration, trials = trials_of(course, exercise_id, seed)
    for trial in trials:
        if not trial.metered:
            assert_confirmed(declaration, trial)
