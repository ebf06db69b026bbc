"""The words of a mistake, made from its record alone, and the three hints that go with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

import grader.diagnosis.diagnose  # noqa: F401  # every kind of fact is made where it is found
from grader.diagnosis.hints import (
    FIRST_WRONG_NUMBER,
    HINTS,
    KNOWN,
    OF_ANY_FUNCTION,
    OF_FORMULA,
    STEPS,
    fix_first,
    hints_for,
)
from grader.diagnosis.mistake import FACT_KINDS, Fact, Mistake, fact_kind
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.words import clause, message_of, with_words
from grader.results.codes import CODES

ANSWER = ("nudge", "pointer", "almost there")
LADDERS = HINTS
BS = ["bs", 3]
EXACT = {"arrays": "x or y", "exactly": "exactly 0 or equal"}


@pytest.mark.parametrize(
    ("operator", "parameters", "text"),
    [
        # shapes
        ("same-shape", {"shape": [7]}, "its shape is always (7,), whatever the sizes"),
        ("wrong-shape", {"shape": [BS, ["", 1]], "expected": [BS], "owner": "w", "options": [["dim", "0"]]},
         "its shape is (bs=3, 1); it should be that of w, (bs=3,); here the argument `dim` is 0"),
        ("broadcast", {"a": "x", "b": "t", "shape": [BS, BS], "expected": [BS]},
         "its shape is (bs=3, bs=3): x and t were broadcast against each other; it should be (bs=3,)"),
        # factors, of every entry or of a part of the answer
        ("factor-sign", {}, "every entry has the wrong sign"),
        ("factor-number", {"factor": "2"}, "every entry is twice what it should be"),
        ("factor-number", {"factor": "-1/10"}, "every entry is -1/10 of what it should be"),
        ("factor-number", {"factor": "-2", "besides": True}, "the answer is wrongly multiplied by -2"),
        ("factor-number", {"factor": "1/6", "part": "the contribution of `sin(x)`"},
         "the contribution of `sin(x)` is 1/6 of what it should be"),
        ("weights-of-prior", {"new": "1", "before": "2"},
         "this is the new gradient plus twice the stored one; it must be the sum of the new gradient and the stored"
         " one"),
        ("not-zero", {"wrong": 2, "zeros": 2}, "both entries that must be 0 are nonzero; the others are right"),
        ("factor-divided", {"quantity": "bs", "size": 7}, "every entry is 1/7 of what it should be, and bs = 7 here"),
        ("factor-divided", {"quantity": "bs", "size": 7, "negative": True},
         "every entry is -1/7 of what it should be, and bs = 7 here"),
        ("factor-expression", {"expression": "2 / bs", "quantity": "bs", "size": 7, "negative": True},
         "every entry is -2 / bs times what it should be; bs = 7 here"),
        # facts
        ("offset", {"number": "1/2", "verb": "subtracted from"}, "1/2 is subtracted from every entry"),
        ("another-mask", {"passes": True, "name": "x", "place": [0, 2], "value": "-0.107"},
         "the mask is wrong: at x[0,2] = -0.107 the upstream gradient passes, but the gradient must be 0 there"),
        ("another-mask", {"passes": False, "name": "", "place": [0, 2], "value": ""},
         "the mask is wrong: at entry [0,2] the gradient is 0, but the upstream gradient must pass through"),
        ("wrong-where-exact", {**EXACT, "wrong": 16, "entries": 35, "name": "x", "place": [0, 1], "value": "0"},
         "it is wrong only where entries of x or y are exactly 0 or equal: there, 16 of 35"
         " entries are wrong, among them the one at x[0,1]"),
        ("wrong-where-exact", {**EXACT, "wrong": 1, "entries": 35, "name": "", "place": [0, 1], "value": ""},
         "it is wrong only where entries of x or y are exactly 0 or equal: there, 1 of 35"
         " entries is wrong, entry [0,1]"),
        ("wrong-where-exact", {**EXACT, "wrong": 1, "entries": 1, "name": "", "place": [], "value": ""},
         "it is wrong only where entries of x or y are exactly 0 or equal: there, the value"
         " is wrong"),
        ("wrong-where-tied", {"wrong": 9, "entries": 32, "tied": "a and b", "pair": "a[0,3] = b[0,3]", "value": "0"},
         "it is wrong only where a and b are equal: in 9 of 32 entries, for example where a[0,3] = b[0,3] = 0"),
        ("wrong-at-value", {"wrong": 3, "entries": 24, "name": "x", "exactly": "-2 or 1", "place": [0, 1]},
         "it is wrong only where x is exactly -2 or 1: in 3 of 24 entries, such as x[0,1]"),
        ("unknown", {"wrong": 2, "entries": 35, "error": "0.3", "alone": True},
         "2 of 35 entries are wrong, and none in a batch of one; "
         "the largest error is 0.3 times the largest entry of the right answer"),
        ("unknown", {"wrong": 2, "entries": 35, "error": "1", "alone": False},
         "2 of 35 entries are wrong; the largest error is as large as the largest entry of the right answer"),
        ("unknown", {"wrong": 1, "entries": 1, "error": "3", "alone": False, "given": "4", "right": "1"},
         "the value is 4; it must be 1"),
        ("right-only-in", {"kinds": [["a batch of one", [["bs", 1]]], ["a square case", []]]},
         "it is right only for a batch of one (bs=1) and where all axes have the same size"),
    ],
)  # fmt: skip
def test_each_kind_of_parameter_has_its_words(operator: str, parameters: dict[str, Any], text: str) -> None:
    assert clause(Fact(operator, parameters)) == text


def test_two_facts_are_two_clauses() -> None:
    minus = Fact("sign-flipped", {"step": "`2 - x`"}, "the minus of `2 - x` is missing")
    factor = Fact("factor-number", {"factor": "1/2", "besides": True})
    assert message_of(Mistake("wrong-sign", facts=(minus, factor))) == (
        "the minus of `2 - x` is missing; also, the answer is wrongly multiplied by 1/2"
    )
    assert message_of(Mistake("wrong-sign", facts=(minus, Fact("upstream-twice", {}, "out.g is applied twice")))) == (
        "the minus of `2 - x` is missing; also, out.g is applied twice"
    )


def test_what_follows_from_another_answer_says_so() -> None:
    follows = Mistake(
        "inverted-mask",
        facts=(Fact("mask-inverted", {"step": "`relu(x)`"}, "the mask of `relu(x)` is inverted"),),
        cause="b1.g",
    )
    assert message_of(follows) == "the same mistake as in b1.g"
    assert with_words(follows).hints[0] == "Fix `b1.g` first, then look again."


def test_a_finding_keeps_the_mistake_that_it_is_made_from() -> None:
    mistake = Mistake(
        "inverted-mask", facts=(Fact("mask-inverted", {"step": "`relu(x)`"}, "the mask of `relu(x)` is inverted"),)
    )
    found = with_words(mistake)
    assert (found.code, found.says, found.facts) == (
        "inverted-mask",
        "the mask of `relu(x)` is inverted",
        mistake.facts,
    )
    assert mistake.facts[0].record == {"operator": "mask-inverted", "parameters": {"step": "`relu(x)`"}}


def test_an_answer_with_the_mistake_of_another_one_has_no_hints_on_the_mistake() -> None:
    fact = Fact("truncated", {}, "the loop is cut short")
    own = with_words(Mistake("wrong-operand", facts=(fact,), hints=("Its own.",)))
    assert own.hints == ("Its own.",)
    same = with_words(Mistake("wrong-operand", facts=(fact,), hints=("Its own.",), cause="x.g"))
    assert same.hints == fix_first(["x.g"], is_same=True)
    assert len(set(same.hints)) == STEPS


def test_an_answer_that_is_right_given_wrong_ones_is_told_which_to_fix() -> None:
    hints = fix_first(["x.g", "w.g"], is_same=False)
    assert hints[0] == "Fix `x.g` and `w.g` first, then look again."
    assert len(set(hints)) == STEPS


def test_a_mistake_has_the_hints_of_its_kind_of_fact() -> None:
    kind = FACT_KINDS["right-only-where"]
    assert with_words(kind("hard-coded", where="when dim is 1")).hints == kind.hints != ()


def test_no_name_stands_for_two_kinds_of_mistakes() -> None:
    assert not FACT_KINDS.keys() & {operator.name for operator in OPERATORS}
    with pytest.raises(ValueError, match="two kinds of facts called constant"):
        fact_kind("constant", "it is {number}")


# --- hints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", sorted(LADDERS))
def test_a_ladder_belongs_to_a_public_code_and_has_at_most_three_steps(code: str) -> None:
    assert code in CODES
    assert 1 <= len(LADDERS[code]) <= STEPS
    assert len(set(LADDERS[code])) == len(LADDERS[code])
    assert all(hint.strip() == hint and hint.endswith((".", "?", "`")) for hint in LADDERS[code])


OWN_HINTS = {operator.name: operator.hints for operator in OPERATORS} | {
    name: kind.hints for name, kind in FACT_KINDS.items()
}


@pytest.mark.parametrize("name", sorted(name for name, hints in OWN_HINTS.items() if hints))
def test_a_mistake_has_at_most_three_hints_of_its_own(name: str) -> None:
    hints = OWN_HINTS[name]
    by_code = hints if isinstance(hints, Mapping) else {"wrong-operand": hints}
    assert by_code.keys() <= CODES
    for ladder in by_code.values():
        assert 1 <= len(ladder) == len(set(ladder)) <= STEPS
        assert all(hint.strip() == hint and hint.endswith((".", "?", "`")) for hint in ladder)


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_failure_comes_with_three_different_hints(code: str) -> None:
    hints = hints_for(code, (), ANSWER)
    assert len(hints) == len(set(hints)) == STEPS


def test_a_matched_misconception_speaks_first_and_the_answer_last() -> None:
    assert hints_for("wrong-sign", ("its own",), ANSWER) == ("its own", *LADDERS["wrong-sign"][:2])


@pytest.mark.parametrize("code", sorted(OF_FORMULA))
def test_the_last_hint_of_an_only_answer_is_about_a_mistake_in_its_formula(code: str) -> None:
    assert hints_for(code, (), ANSWER) == (*LADDERS[code][:2], "almost there")
    assert hints_for(code, (), ANSWER, by_formula=False) == tuple(LADDERS[code])
    assert hints_for(code, ("its own",), ANSWER) == ("its own", *LADDERS[code][:2])


@pytest.mark.parametrize("code", sorted(LADDERS.keys() - OF_FORMULA))
def test_no_hint_on_the_formula_is_given_on_a_mistake_elsewhere(code: str) -> None:
    assert hints_for(code, (), ANSWER) == tuple(LADDERS[code])
    assert len(LADDERS[code]) == STEPS


@pytest.mark.parametrize("code", sorted(LADDERS))
def test_no_hint_speaks_of_a_loss_where_there_is_none(code: str) -> None:
    if code != "missing-upstream":  # which is told only where there is a loss
        assert "the loss" not in " ".join(hints_for(code, (), ANSWER, loss="the output"))


def test_codes_do_not_speak_of_what_an_exercise_may_not_have() -> None:
    text = " ".join(hint for ladder in LADDERS.values() for hint in ladder)
    assert "`b" not in text.replace("`b` makes", "").replace("`b`?", "")
    assert "example" not in text


def test_a_hint_is_not_given_twice() -> None:
    own = LADDERS["wrong-sign"][0]
    assert hints_for("wrong-sign", (own,), ANSWER).count(own) == 1


def test_a_code_without_a_ladder_shows_the_answers_own_hints() -> None:
    code = next(code for code in sorted(CODES) if code not in LADDERS)
    assert hints_for(code, (), ANSWER) == ANSWER


def test_an_answer_without_hints_shows_what_the_code_knows() -> None:
    assert hints_for("wrong-sign", (), ()) == tuple(LADDERS["wrong-sign"])


@pytest.mark.parametrize("code", sorted(KNOWN - OF_ANY_FUNCTION))
def test_a_known_mistake_in_a_result_is_asked_for_and_not_the_whole_formula(code: str) -> None:
    hints = hints_for(code, (), ANSWER, derives=False)
    assert len(set(hints)) == STEPS
    assert not set(hints) & set(ANSWER)
    assert "loss" not in " ".join(hints)


def test_a_function_that_derives_nothing_is_asked_about_no_loss() -> None:
    assert hints_for("missing-local", ("its own",), ANSWER, derives=False) == ("its own", *FIRST_WRONG_NUMBER)
    assert hints_for("accepts-wrong", ("its own",), ANSWER, derives=False) == ("its own", "pointer", "almost there")
    assert hints_for("imprecise", (), ANSWER, derives=False) == ANSWER
    assert hints_for("unknown", (), ANSWER, derives=False) == ANSWER
    assert hints_for("syntax-error", (), ANSWER, derives=False) == tuple(LADDERS["syntax-error"])
    for code in OF_ANY_FUNCTION & set(LADDERS):
        assert "loss" not in " ".join(LADDERS[code])


INTERRUPTED = """
import builtins
import grader.judging.judge

imports, wanted, normally = [], {at}, builtins.__import__

def interrupted(name, *args, **kwargs):
    imports.append(name)
    if len(imports) == wanted:
        raise KeyboardInterrupt
    return normally(name, *args, **kwargs)

builtins.__import__ = interrupted
try:
    import grader.diagnosis.diagnose
except KeyboardInterrupt:
    builtins.__import__ = normally
    import grader.diagnosis.diagnose
    from grader.diagnosis.operators import OPERATORS
    print(len(OPERATORS))
"""


@pytest.mark.parametrize("at", [40, 200])
def test_the_operators_can_be_imported_after_an_interrupt(at: int) -> None:
    """An interrupted first search, as in a notebook, made every later one fail: there were "two kinds of facts"."""
    code = INTERRUPTED.replace("{at}", str(at))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == f"{len(OPERATORS)}\n", done.stderr
