"""Edits of small forward passes of every kind: they can be said, and what is named is never untrue."""

from __future__ import annotations

import re

import pytest
from helpers.small_passes import EVERY, QUICK, explaining_the_right_answer, right_case, some_edits, untrue_names

from grader.results.codes import VALUE_CODES


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_every_edit_can_be_said(name: str, answer: int) -> None:
    case = right_case(name, answer)
    assert case.samples, "the forward pass is not recorded"
    for edit in some_edits(case, every=5):
        assert edit.code in VALUE_CODES
        assert not re.search(r"[{}]|%\d|  |(?<!, )\bNone\b", edit.message(case.listing)), edit.message(case.listing)


@pytest.mark.parametrize(("name", "answer"), QUICK[::3])
def test_what_is_named_gives_the_learners_numbers(name: str, answer: int) -> None:
    assert list(untrue_names(right_case(name, answer), most=3)) == []


@pytest.mark.parametrize(("name", "answer"), QUICK[1::2])
def test_nothing_explains_the_right_answer(name: str, answer: int) -> None:
    """Neither the reference itself nor an answer that only rounding tells from it."""
    assert explaining_the_right_answer(name, answer, every=11) == []
