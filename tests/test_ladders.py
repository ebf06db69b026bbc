"""Three hints, one step at a time: the mistake's own first, the answer's last ones after them."""

from __future__ import annotations

import pytest

from grader.diagnosis.ladders import LADDERS, OF_ANY_FUNCTION, STEPS, hints_for
from grader.results import CODES

ANSWER = ("nudge", "pointer", "almost there")


@pytest.mark.parametrize("code", sorted(LADDERS))
def test_a_ladder_belongs_to_a_public_code_and_has_at_most_three_steps(code: str) -> None:
    assert code in CODES
    assert 1 <= len(LADDERS[code]) <= STEPS
    assert len(set(LADDERS[code])) == len(LADDERS[code])
    assert all(hint.strip() == hint and hint.endswith((".", "?", "`")) for hint in LADDERS[code])


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_failure_comes_with_three_different_hints(code: str) -> None:
    hints = hints_for(code, (), ANSWER)
    assert len(hints) == len(set(hints)) == STEPS


def test_a_matched_misconception_speaks_first_and_the_answer_last() -> None:
    hints = hints_for("wrong-sign", ("its own",), ANSWER)
    assert hints == ("its own", *LADDERS["wrong-sign"][:2])
    assert hints_for("inverse-for-transpose", (), ANSWER)[-1] == "almost there"


def test_a_hint_is_not_given_twice() -> None:
    own = LADDERS["wrong-sign"][0]
    assert hints_for("wrong-sign", (own,), ANSWER).count(own) == 1


def test_a_code_without_a_ladder_shows_the_answers_own_hints() -> None:
    code = next(code for code in sorted(CODES) if code not in LADDERS)
    assert hints_for(code, (), ANSWER) == ANSWER


def test_an_answer_without_hints_shows_what_the_code_knows() -> None:
    assert hints_for("wrong-sign", (), ()) == LADDERS["wrong-sign"]


def test_a_function_that_derives_nothing_is_asked_about_no_loss() -> None:
    assert hints_for("missing-local", ("its own",), ANSWER, derives=False) == ("its own", "pointer", "almost there")
    assert hints_for("imprecise", (), ANSWER, derives=False) == ANSWER
    assert hints_for("syntax-error", (), ANSWER, derives=False) == LADDERS["syntax-error"]
    for code in OF_ANY_FUNCTION:
        assert "loss" not in " ".join(LADDERS[code])
