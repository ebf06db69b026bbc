"""Edits of small forward passes: they can be said, and what is named is never untrue.

A few of the passes; `thorough/test_every_edit.py` has all.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.small_passes import EVERY, QUICK, explaining_the_right_answer, right_case, some_edits, untrue_names

from grader.diagnosis.case import Case
from grader.results.codes import VALUE_CODES


@pytest.mark.parametrize(("name", "answer"), EVERY[::4])
def test_every_edit_can_be_said(name: str, answer: int) -> None:
    assert_can_be_said(right_case(name, answer))


@np.errstate(all="ignore")  # as in a diagnosis: an edit may take the root of a negative number
def assert_can_be_said(case: Case) -> None:
    """Check that one in five of the edits of a case has a known code, and a message without loose ends."""
    assert case.samples, "the forward pass is not recorded"
    for edit in some_edits(case, every=5):
        assert edit.code in VALUE_CODES
        assert not re.search(r"[{}]|%\d|  |(?<!, )\bNone\b", edit.message(case.listing)), edit.message(case.listing)


@pytest.mark.parametrize(("name", "answer"), QUICK[::9])
def test_what_is_named_gives_the_learners_numbers(name: str, answer: int) -> None:
    assert list(untrue_names(right_case(name, answer), most=3)) == []


@pytest.mark.parametrize(("name", "answer"), QUICK[1::7])
def test_nothing_explains_the_right_answer(name: str, answer: int) -> None:
    """Neither the reference itself nor an answer that only rounding tells from it."""
    assert explaining_the_right_answer(name, answer, every=11) == []
