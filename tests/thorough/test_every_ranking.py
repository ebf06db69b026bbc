"""The learner's tests of each exercise that asks for one, from the best to the worst."""

from __future__ import annotations

import pytest
from test_examination import TESTS, grade, test_learners_tests_are_ranked_as_a_careful_reader_would


@pytest.fixture(params=TESTS)
def ranked(request: pytest.FixtureRequest) -> str:
    return request.param
