"""pytest beside every other package called grader, of which `test_public_names.py` has one."""

from __future__ import annotations

from pathlib import Path

from test_public_names import assert_pytest_goes_on, beside_another

__all__ = ["beside_another"]


def test_pytest_goes_on_and_says_so(beside_another: dict[str, str], tmp_path: Path) -> None:
    assert_pytest_goes_on(beside_another, tmp_path)
