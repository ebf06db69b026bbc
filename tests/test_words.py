"""The words of a mistake, made from its record alone, and the three hints that go with it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from grader.diagnosis.mistake import Fact, Mistake
from grader.results import CODES
from grader.wording.words import FILE, OF_ANY_FUNCTION, STEPS, clause, finding, hints_for, placeholders, says, words

ANSWER = ("nudge", "pointer", "almost there")
LADDERS = words()["hints"]
MISSING = {"operator": "path-missing", "value": "x", "count": 2, "missing": ["`sin`", "`*`"]}
BS, M = ["bs", 3], ["m", 4]


@pytest.mark.parametrize(
    ("operator", "parameters", "text"),
    [
        # operations, and which of several
        ("derivative-missing", {"step": "`tanh`"}, "the derivative of `tanh` is missing"),
        ("derivative-missing", {"step": "`@`#2"}, "the derivative of the second `@` is missing"),
        ("half-of-sqrt-missing", {"step": "`sqrt`#5"},
         "the factor 1/2 of the derivative of the fifth `sqrt` is missing"),
        ("power-rule-for-exp", {"step": "`exp`"},
         "the power rule is applied to `exp`: x * exp(x - 1) is not its derivative"),
        # values, results and gradients that arrive
        ("derivative-at-another-value", {"step": "`** 3`", "there": "x", "here": "%`+ 2`"},
         "the derivative of `** 3` is taken at x, and must be at the result of `+ 2`"),
        ("result-for-upstream", {"there": "%`@`#2", "gradient": "^`mean`"},
         "the result of the second `@` is used in place of the gradient that arrives at `mean`"),
        ("upstream-missing", {"gradient": "out.g"}, "out.g is missing: this is what 1 in its place gives"),
        # axes and shapes
        ("axes-not-summed", {"axes": [BS]}, "bs (3 here) is still there: the sum over it is missing"),
        ("axes-not-summed", {"axes": [BS, M]}, "bs and m (3 and 4 here) are still there: the sum over them is missing"),
        ("axes-not-summed-part", {"axes": [BS, M], "left": [M]},
         "m (4 here) is still there: the sum over it is missing"),
        ("only-some-terms", {"axes": [["", 3]], "part": "only the first"},
         "of an axis (3 here), the sum has only the first"),
        ("summed-over-own-axis", {"axis": "m", "how": "sum"}, "it is summed over m, which it must keep"),
        ("summed-over-own-axis", {"axis": 0, "how": "mean"}, "it is averaged over axis 0, which it must keep"),
        ("summed-over-batch", {"axis": "all", "how": "sum"}, "it is summed over all of its axes, which it must keep"),
        ("picked-along-another-axis", {"step": "`max`", "axis": [["", 4]], "number": 1},
         "the mask marks what `max` would select along axis 1, not along the axis it is given"),
        ("same-shape", {"shape": [7]}, "its shape is (7,), whatever the sizes are"),
        ("wrong-shape", {"shape": [BS, ["", 1]], "expected": [BS], "owner": "w", "options": [["dim", "0"]]},
         "its shape is (bs=3, 1); it should be the shape of w, (bs=3,), where dim is 0"),
        ("broadcast", {"a": "x", "b": "t", "shape": [BS, BS], "expected": [BS]},
         "its shape is (bs=3, bs=3): x and t were broadcast against each other; it should be (bs=3,)"),
        # paths and loops
        ("path-missing", {"value": "x", "count": 2, "missing": ["`sin`"]},
         "1 of the 2 paths from x is missing: through `sin`"),
        ("path-missing", {"value": "%`@`", "count": 4, "missing": ["`sin`", "`*`#1", "`*`#2"]},
         "3 of the 4 paths from the result of `@` are missing: through `sin`, the first `*` and the second `*`"),
        ("mean-not-divided", {"step": "`mean`", "n": 18, "path": ["`** 3`"]},
         "on the path through `** 3`, the 1/18 of `mean` is missing"),
        ("derivative-missing", {"step": "`tanh`", "turn": "every"},
         "the derivative of `tanh` is missing, in every turn of the loop"),
        ("derivative-missing", {"step": "`tanh`", "turn": "alike"},
         "the derivative of `tanh` is missing, wherever it is used"),
        ("only-last-turns", {"value": "u", "step": "`@`", "turns": 1},
         "u is used in every turn of the loop, by `@`, and only the last counts"),
        ("only-last-turns", {"value": "u", "step": "`@`", "turns": 2},
         "u is used in every turn of the loop, by `@`, and only the last 2 count"),
        ("along-another-axis", {"step": "`softmax`", "axis": [BS], "way": "back"},
         "`softmax` is taken along bs, not along the axis that it is given, on the way back alone"),
        # what is used in place of an input
        ("input-rearranged", {"name": "t", "how": "mean-of-rows"},
         "the mean of t over its first axis is used in place of t"),
        ("upstream-rearranged", {"upstream": "out.g", "how": "sign"},
         "the sign of out.g alone is used in place of out.g"),
        ("biases-missing", {"names": ["b", "c"]}, "b and c are left out in the forward pass: none of them is added"),
        # rows
        ("rows-in-pattern", {"pattern": "first-half", "axes": [BS]}, "of bs (3 here), only the first half is counted"),
        ("rows-once", {"axes": [BS], "once": [0, 2]}, "of bs (3 here), only those numbered 0 and 2 counted"),
        ("path-for-some-rows", {"part": MISSING, "rows": [2]},
         "the path through `sin` and `*` does not count for row 2"),
        ("path-for-some-rows", {"part": {"operator": "only-own-part", "step": "`softmax`"}, "rows": [0, 2]},
         "the sum over the row of `softmax` does not count for rows 0 and 2"),
        # factors, of every entry or of a part of the answer
        ("factor-sign", {}, "every entry has the wrong sign"),
        ("factor-number", {"factor": "2"}, "every entry is 2 times what it should be"),
        ("factor-number", {"factor": "-2", "besides": True}, "every entry is -2 times that"),
        ("factor-number", {"factor": "1/6", "part": MISSING},
         "the path through `sin` and `*` is 1/6 times what it should be"),
        ("factor-divided", {"quantity": "bs", "size": 7}, "every entry is 1/7 of what it should be, and bs = 7 here"),
        ("factor-divided", {"quantity": "bs", "size": 7, "negative": True},
         "every entry is -1/7 of what it should be, and bs = 7 here"),
        ("factor-expression", {"expression": "2 / bs", "quantity": "bs", "size": 7, "negative": True},
         "every entry is -2 / bs times what it should be; bs = 7 here"),
        # facts
        ("offset", {"number": "1/2", "verb": "subtracted from"}, "1/2 is subtracted from every entry"),
        ("another-mask", {"passes": True, "name": "x", "place": [0, 2], "value": "-0.107"},
         "the mask is another one: x[0,2] = -0.107 passes its gradient on, and must be 0"),
        ("another-mask", {"passes": False, "name": "", "place": [0, 2], "value": ""},
         "the mask is another one: entry [0,2] is 0, and must pass its gradient on"),
        ("unknown", {"wrong": 2, "entries": 35, "error": "0.3", "alone": True},
         "2 of 35 entries are wrong, by up to 0.3 times the largest entry of the right answer, "
         "and none in a batch of one"),
        ("unknown", {"wrong": 2, "entries": 35, "error": "1", "alone": False},
         "2 of 35 entries are wrong, by up to the largest entry of the right answer"),
        ("unknown", {"wrong": 1, "entries": 1, "error": "3", "alone": False},
         "the value is wrong, by up to 3 times the right one"),
        ("right-only-in", {"kinds": [["a batch of one", [["bs", 1]]], ["a square case", []]]},
         "it is right only in a batch of one (bs=1) and a square case"),
    ],
)  # fmt: skip
def test_each_kind_of_parameter_has_its_words(operator: str, parameters: dict[str, Any], text: str) -> None:
    assert clause(Fact(operator, parameters)) == text


def test_two_facts_are_two_clauses() -> None:
    minus = Fact("minus-missing", {"step": "`2 -`"})
    factor = Fact("factor-number", {"factor": "1/2", "besides": True})
    assert says(Mistake("wrong-sign", (minus, factor))) == (
        "the minus of `2 -` is missing; besides, every entry is 1/2 times that"
    )
    assert says(Mistake("wrong-sign", (minus, Fact("upstream-twice", {})))) == (
        "the minus of `2 -` is missing; the upstream gradient is applied twice"
    )


def test_what_follows_from_another_answer_says_so() -> None:
    follows = Mistake("inverted-mask", (Fact("mask-inverted", {"step": "`relu`"}),), cause="b1.g")
    assert says(follows) == "the same cause as in b1.g: the mask of `relu` is inverted"
    assert finding(follows).hints == ("Mend the other answer first, and look again.",)


def test_a_finding_keeps_the_mistake_that_it_is_made_from() -> None:
    mistake = Mistake("inverted-mask", (Fact("mask-inverted", {"step": "`relu`"}),))
    found = finding(mistake)
    assert (found.code, found.says, found.mistake) == ("inverted-mask", "the mask of `relu` is inverted", mistake)
    assert mistake.facts[0].record == {"operator": "mask-inverted", "parameters": {"step": "`relu`"}}


def test_the_hints_of_an_operator_come_before_those_of_its_code() -> None:
    moved = finding(Mistake("wrong-operand", (Fact("only-first-turn", {"step": "`@`", "value": "u"}),)))
    assert moved.hints == tuple(words()["hints_of"]["only-first-turn"])
    own = finding(
        Mistake("wrong-operand", (Fact("only-first-turn", {"step": "`@`", "value": "u"}),), hints=("Its own.",))
    )
    assert own.hints == ("Its own.",)
    assert finding(Mistake("wrong-sign", (Fact("negated", {}),))).hints == ()


def test_the_parameters_of_a_template_are_known() -> None:
    assert placeholders("of {axes}, {once:numbered} {still}") == {"axes", "once"}
    assert placeholders("{paths}") == {"value", "count", "missing"}


def test_no_name_stands_twice_in_the_file() -> None:
    """YAML keeps the last of two, without a word."""
    names = [key.value for key, value in yaml.compose(FILE.read_text(encoding="utf-8")).value
             if key.value == "says" for key, _ in value.value]  # fmt: skip
    assert len(names) == len(set(names))


# --- hints -------------------------------------------------------------------------------------------------------


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
    assert hints_for("wrong-sign", ("its own",), ANSWER) == ("its own", *LADDERS["wrong-sign"][:2])
    assert hints_for("inverse-for-transpose", (), ANSWER)[-1] == "almost there"


def test_a_hint_is_not_given_twice() -> None:
    own = LADDERS["wrong-sign"][0]
    assert hints_for("wrong-sign", (own,), ANSWER).count(own) == 1


def test_a_code_without_a_ladder_shows_the_answers_own_hints() -> None:
    code = next(code for code in sorted(CODES) if code not in LADDERS)
    assert hints_for(code, (), ANSWER) == ANSWER


def test_an_answer_without_hints_shows_what_the_code_knows() -> None:
    assert hints_for("wrong-sign", (), ()) == tuple(LADDERS["wrong-sign"])


def test_a_function_that_derives_nothing_is_asked_about_no_loss() -> None:
    assert hints_for("missing-local", ("its own",), ANSWER, derives=False) == ("its own", "pointer", "almost there")
    assert hints_for("imprecise", (), ANSWER, derives=False) == ANSWER
    assert hints_for("syntax-error", (), ANSWER, derives=False) == tuple(LADDERS["syntax-error"])
    for code in OF_ANY_FUNCTION & set(LADDERS):
        assert "loss" not in " ".join(LADDERS[code])
