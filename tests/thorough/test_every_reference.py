"""What every trial of every exercise is like; `handgrad audit` shows that references agree with measurements."""

from __future__ import annotations

import pytest
from test_reference import (
    EXERCISES,
    test_expected_gradients_are_those_of_the_loss,
    test_references_are_double_and_shaped_like_their_owner,
    test_the_same_seed_gives_the_same_trials,
    test_upstream_gradients_are_random_never_ones,
)


@pytest.fixture(params=EXERCISES)
def exercise_id(request: pytest.FixtureRequest) -> str:
    return request.param
