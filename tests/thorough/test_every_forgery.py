"""Every forgery, between two honest students: the tests are those of the short suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.nbgrader_class import UNIT, nbgrader, released_folder
from helpers.nbgrader_students import EVERY_FORGERY, hand_in_forgeries
from test_nbgrader_forgery import (
    test_a_forgery_leaves_no_file_behind,
    test_a_forgery_scores_nothing_under_our_preprocessors,
    test_the_gradebook_holds_the_earned_points_and_nothing_else,
)


@pytest.fixture(scope="module")
def forgeries() -> Mapping[str, str]:
    return EVERY_FORGERY


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course graded by our preprocessors."""
    folder = released_folder(tmp_path_factory.mktemp("forgeries"))
    hand_in_forgeries(folder, EVERY_FORGERY)
    nbgrader("autograde", UNIT, cwd=folder)
    return folder
