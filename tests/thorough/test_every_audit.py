"""Every fault of a course of which `test_audit` finds a few."""

from __future__ import annotations

from pathlib import Path

import pytest
import test_audit
from test_audit import FORMULAS, MISCONCEPTIONS, WORDS, Check, findings, root, sound

__all__ = ["findings", "root", "sound"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_hint_that_holds_the_formula_is_found(root: Path, findings: Check, formula: str) -> None:
    test_audit.test_a_hint_that_holds_the_formula_is_found(root, findings, formula)


@pytest.mark.parametrize("case", WORDS)
def test_hints_that_are_missing_or_misspelt_are_found(root: Path, findings: Check, case: str) -> None:
    test_audit.test_hints_that_are_missing_or_misspelt_are_found(root, findings, case)


@pytest.mark.parametrize("case", MISCONCEPTIONS)
def test_a_misconception_that_proves_nothing_is_found(root: Path, findings: Check, case: str) -> None:
    test_audit.test_a_misconception_that_proves_nothing_is_found(root, findings, case)
