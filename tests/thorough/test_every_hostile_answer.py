"""Every hostile answer to every kind of question, and every operation with arguments that make no sense."""

from __future__ import annotations

import pytest
from helpers.hostile_answers import ANSWERS
from test_answer_spellings import HOSTS, assert_refused
from test_formula_syntax import NAMES, assert_bounded


@pytest.mark.parametrize("recipe", ANSWERS)
def test_a_hostile_answer_is_refused_at_once_by_every_kind_of_question(recipe: str) -> None:
    assert_refused(recipe, HOSTS)


@pytest.mark.parametrize("name", NAMES)
def test_no_operation_can_be_used_to_stop_the_grader(name: str) -> None:
    assert_bounded(name)
