"""Every forgery, between two honest students: the tests are those of the short suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.nbgrader_class import UNIT, nbgrader, released_folder
from helpers.nbgrader_students import EVERY_FORGERY, hand_in_forgeries
from test_nbgrader_forgery import (
    test_here_it_scores_nothing,
    test_here_nothing_is_left_behind,
    test_here_the_gradebook_holds_what_everybody_earned_and_nothing_else,
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
