"""Every edit of a notebook of which `test_nbgrader_submission.py` has some."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_nbgrader_submission import EDITS, assert_restored_once, folder

__all__ = ["folder"]


@pytest.mark.parametrize("what", EDITS)
def test_each_released_cell_is_restored_once(folder: Path, what: str) -> None:
    assert_restored_once(folder, what)
