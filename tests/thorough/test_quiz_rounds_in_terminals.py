"""Rounds of a quiz in terminals with and without colours."""

from __future__ import annotations

import re
from collections.abc import Callable

from test_quiz_session import UNIT, Terminal, course, letter, taking, terminal

from grader.course.course import Course
from grader.learner.quiz_session import QuizSession
from grader.quiz.answer_sheet import right_answer

__all__ = ["course", "taking", "terminal"]


def test_after_a_round_the_ones_that_are_not_right_are_offered_again(
    terminal: Callable[..., Terminal], taking: QuizSession
) -> None:
    for name in taking.open()[1:]:
        taking.answer(name, right_answer(taking.question(name)))
    one = terminal(UNIT)
    one.until("answer> ")
    one.type(letter(taking, "falls_by_4", "rises_4h") + "\n")
    one.until("Try the ones that are not right yet? [Y/n] ")
    one.type("\n")
    one.until("answer> ")
    one.type(letter(taking, "falls_by_4", "about_4h") + "\n")
    one.until("All of them are right.")
    assert one.code() == 0


def test_keywords_of_a_listing_are_bold_and_nothing_is_coloured(
    terminal: Callable[..., Terminal], course: Course
) -> None:
    for no_color in ("1", ""):
        one = terminal("02_chain_rule", NO_COLOR=no_color)
        assert "import torch\n" in re.sub(r" +\n", "\n", one.until("answer> "))
        assert re.search(r"\x1b\[1(;49)?mimport\b", one.raw)
        assert not re.search(r"\x1b\[\d*;?[39]\d[;m]", one.raw)
