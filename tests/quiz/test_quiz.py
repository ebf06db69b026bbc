"""A quiz as its author writes it: read, checked, drawn for a learner, and its answers judged."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.questions import KINDS, AnswerableQuestion, Choice, Choices, Expression, Number, Predict, Shape, Word
from grader.course.quiz import Quiz, read_quiz
from grader.errors import SpecError
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.computed_answers import compute_keys, keys_text
from grader.quiz.variants import (
    draw_values,
    every_values,
    fill_in_values,
    options,
    question_with_key,
    question_with_values,
)

WRONG = {"code": "wrong-sign", "says": "No."}
COMMON = {"ask": "What?", "hints": ["A nudge."], "because": "So it is."}

QUIZ = """\
entries:
  kind: number
  ask: How many entries has an array ({n}, {m})?
  params: {n: [3, 5, 7], m: [2, 4]}
  right: "{n*m}"
  wrong:
    "{n+m}": {code: wrong-shape, says: "That is {n} and {m} added."}
  hints: ["Draw {n} rows."]
  because: There are {n} rows of {m}.
pick:
  kind: choice
  ask: Which?
  right: {good: This one.}
  wrong:
    bad: {text: That one., code: wrong-sign, says: It is not that one.}
    ugly: {text: The other., code: transposed, says: It is not the other.}
  hints: [Think.]
  because: It is.
"""
Read = Callable[[str], Quiz]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """`read(text)`: the quiz in a file with this text."""

    def reading(text: str) -> Quiz:
        path = tmp_path / "quiz.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return read_quiz(path)

    return reading


def told(question: AnswerableQuestion, answer: str) -> str | None:
    """The code of an answer, `None` if it is right."""
    found = mistake_in(question, answer)
    return None if found is None else found.code


def test_a_quiz_has_an_answer_and_hints_for_each_question(read: Read) -> None:
    quiz = read(QUIZ)
    assert quiz.title == "Quiz of 2 questions"
    assert [answer.name for answer in quiz.answers] == ["entries", "pick"]
    assert quiz.hints["pick"] == ("Think.",)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("kind: number", "kind: nummer", 2, "entries is of no known kind: write number."),
        ("  kind: number\n", "", 1, "choose among choice, choices, number"),
        ("code: wrong-shape", "code: wrong-shap", 7, "wrong-shap is no public code of a mistake"),
        ("says: It is not that one.", "sais: It.", 15, "is not a known setting"),
        (", says: It is not that one.", "", 15, "pick.wrong.bad.says is missing"),
        ("    bad: {text: That one., ", "    bad: {", 15, "pick.wrong.bad.text is missing"),
        ("right: {good: This one.}", "right: {}", 13, "pick.right: "),
        ("right: {good: This one.}", "right: {good: This., best: That.}", 13, "pick.right: "),
        ("right: {good: This one.}", "right: {Good!: This one.}", 13, "string should match pattern"),
        ("  because: It is.\n", "", 10, "pick.because is missing"),
        ("hints: [Think.]", "hints: [1, 2, 3, 4]", 17, "pick.hints: "),
        ("hints: [Think.]", "hints: Think.", 17, "pick.hints: "),
        ("n: [3, 5, 7]", "n: [3, five, 7]", 4, "entries.params.n.1: "),
        ("pick:", "Pick:", 10, "Pick is no name for a question"),
        ("pick:", "variant:", 10, "variant is no name for a question"),
        ("pick:", "entries:", 10, "entries is there a second time, after line 1"),
        ("pick:\n", "pick: 4\nother:\n", 10, "pick holds no question"),
        ("  ask: Which?", "  ask: &a Which?", 12, "references"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(read: Read, old: str, new: str, line: int, says: str) -> None:
    assert old in QUIZ
    with pytest.raises(SpecError) as refused:
        read(QUIZ.replace(old, new))
    assert f"quiz.yaml, line {line}: " in str(refused.value)
    assert says in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_quiz_without_questions_or_without_a_file_is_refused(read: Read, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="there is no question in it"):
        read("# nothing yet\n")
    with pytest.raises(SpecError, match=r"course\.yaml gives this unit a quiz"):
        read_quiz(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(SpecError, match="save it as UTF-8"):
        read_quiz(tmp_path / "latin.yaml")


def test_more_variants_than_anyone_can_audit_are_refused(read: Read) -> None:
    many = ", ".join(f"{letter}: [{', '.join(map(str, range(50)))}]" for letter in "abcdefgh")
    with pytest.raises(SpecError, match="more than 200 variants"):
        read(QUIZ.replace("n: [3, 5, 7], m: [2, 4]", many))


def test_variant_0_has_the_first_of_every_parameter(read: Read) -> None:
    question = question_with_key(read(QUIZ), "entries", 0)
    assert isinstance(question, Number)
    assert question.ask == "How many entries has an array (3, 2)?"
    assert (question.right, dict(question.wrong)["5"].says) == ("6", "That is 3 and 2 added.")
    assert (question.hints, question.because) == (("Draw 3 rows.",), "There are 3 rows of 2.")


def test_variants_draw_every_value_and_the_same_one_again(read: Read) -> None:
    question = read(QUIZ).questions["entries"]
    found = {tuple(draw_values("entries", question, variant).values()) for variant in range(100)}
    assert (
        found
        == {tuple(values.values()) for values in every_values(question)}
        == set(itertools.product((3, 5, 7), (2, 4)))
    )
    assert draw_values("entries", question, 4711) == draw_values("entries", question, 4711) == {"n": 5, "m": 4}


def test_choices_are_shown_in_another_order_in_other_variants_and_their_names_stay(read: Read) -> None:
    quiz = read(QUIZ)
    question = question_with_key(quiz, "pick", 0)
    assert isinstance(question, Choice)
    orders = {tuple(options("pick", question, variant)) for variant in range(60)}
    assert len(orders) == 6
    assert {told(question, label) for label in ("bad", "ugly", "good")} == {"wrong-sign", "transposed", None}


def test_only_braces_around_parameters_are_worked_out() -> None:
    listing = "d = {n}\ne = {1: 'n'}\nf'{x + n}' {n + 1} {q}"
    question = Predict.model_validate({**COMMON, "kind": "predict", "params": {"n": [2]}, "listing": listing})
    assert fill_in_values(question, {"n": 2.0}).listing == "d = 2\ne = {1: 'n'}\nf'{x + n}' 3 {q}"
    assert fill_in_values(question, {}).listing == listing


@given(st.integers(0, 1 << 32))
def test_every_variant_can_be_drawn(variant: int) -> None:
    question = Number.model_validate({**COMMON, "kind": "number", "right": "{n}", "params": {"n": [1, 2, 3]}})
    assert fill_in_values(question, draw_values("q", question, variant)).right in {"1", "2", "3"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "answer",
    ["good", " good ", "Good", '"good"', "`good`", "good.", "only good", "the good (this one)", "This one", "this one.",
     "good: this one", "good because it is", "good, good"],
)  # fmt: skip
def test_a_choice_is_named_by_its_word(read: Read, answer: str) -> None:
    assert told(question_with_key(read(QUIZ), "pick", 0), answer) is None


def test_a_word_that_is_no_choice_is_said_so_with_the_nearest(read: Read) -> None:
    question = question_with_key(read(QUIZ), "pick", 0)
    found = mistake_in(question, "goood")
    assert found is not None
    assert (found.code, found.says) == ("not-read", "There is no choice `goood`: did you mean good?")
    assert told(question, "good, bad") == "not-read"
    assert told(question, "not good") == "not-read"
    assert told(question, "good (not bad)") == "not-read"
    unread = mistake_in(question, "good: I am not sure")
    assert unread is not None
    assert unread.says == "Write the name of the choice alone: leave out `I am not sure`."


def test_an_answer_that_is_no_choice_is_quoted_with_a_mark_where_it_is_cut(read: Read) -> None:
    found = mistake_in(question_with_key(read(QUIZ), "pick", 0), f"what {'very ' * 20}bad people do")
    assert found is not None
    cut = f"what {'very ' * 20}"[:39]
    assert found.says == f"There is no choice `{cut}…`: choose from bad, good, ugly."


CHOICES = Choices.model_validate(
    {
        **COMMON, "kind": "choices",
        "right": {"p": {"text": "P", "code": "missing-path", "says": "p"}, "q": {"text": "Q", "code": "partial-batch", "says": "q"}},  # noqa: E501
        "wrong": {"r": {"text": "R", "code": "transposed", "says": "r"}, "s": {"text": "S", "code": "overwritten", "says": "s"}},  # noqa: E501
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("p, q", None), ("q p", None), ("p;q", None), ("q, p, q", None),
        ("p", "partial-batch"), ("q", "missing-path"), ("p, q, r", "transposed"), ("p, q, s", "overwritten"),
        ("p, s, r", "transposed"), ("r", "transposed"), ("p, t", "not-read"),
        ("p (first), q (second)", None), ("p (or r), q", "not-read"),
        ("p and q", None), ("both q & p", None), ("p + q.", None), ("p and not q", "not-read"), ("p or q", "not-read"),
    ],
)  # fmt: skip
def test_choices_are_right_when_all_are_named_and_no_other(answer: str, code: str | None) -> None:
    assert told(CHOICES, answer) == code


def test_a_list_with_something_that_is_no_choice_is_told_how_lists_are_written() -> None:
    found = mistake_in(CHOICES, "p, x and y")
    assert found is not None
    says = "There is no choice `x and y`: write names from this list, separated by commas: p, q, r, s."
    assert found.says == says


NUMBER = Number.model_validate(
    {
        **COMMON, "kind": "number", "right": "10.04", "tolerance": 0.01, "unit": "MB",
        "units": {"floppies": 1.44},
        "wrong": {"2.51": {"code": "wrong-factor", "says": "4 bytes."}},
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("10.04", None), ("10.045", None), ("10.03", None), ("10.04 MB", None), ("10.04MB", None), ("10040 kB", None),
        ("0.01004GB", None), ("6.9722 floppies", None),
        ("1.004e1", None), ("1004/100", None), ("(1004/100) MB", None), ("10.06", "unknown"),
        ("2.51", "wrong-factor"), ("2510 kB", "wrong-factor"), ("-10.04", "wrong-sign"), ("10.04 kB", "wrong-factor"),
        ("10.04 MiB", "wrong-factor"), ("ten", "unknown"), ("10,04", None), ("10.04 MB!", "not-read"),
        ("9**9**9**9", "not-finite"), ("nan", "unknown"), ("1e999", "not-finite"), ("10_04", "unknown"),
        ("0x10", "not-read"), ("1" * 501, "not-read"), ("none", "unknown"), ("true", "unknown"),
    ],
)  # fmt: skip
def test_a_number_may_be_written_in_any_unit_and_to_any_precision(answer: str, code: str | None) -> None:
    assert told(NUMBER, answer) == code


def test_a_number_may_be_rounded_to_three_digits_where_a_tolerance_allows_it() -> None:
    third = NUMBER.model_copy(update={"right": "1/3", "tolerance": 0.0})
    assert told(third, "0.33333333333") is None
    assert told(third, "0.333") == "unknown"
    near = NUMBER.model_copy(update={"right": "1/3", "tolerance": 0.0001})
    assert [told(near, answer) for answer in ("0.333", "33.3 %", "0.334", "0.33")] == [None, None, "unknown", "unknown"]
    zero = NUMBER.model_copy(update={"right": "0", "tolerance": 0.0})
    assert told(zero, "-0.0") is None
    assert told(zero, "1e-12") == "unknown"


SHAPE = Shape.model_validate(
    {
        **COMMON, "kind": "shape", "right": "(bs, n, m)", "params": {"n": [4]},
        "wrong": {"(n, m)": {"code": "extra-batch-sum", "says": "Summed."}, "()": {"code": "wrong-shape", "says": "Loss."}},  # noqa: E501
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("(bs, n, m)", None), ("bs, n, m", None), ("[bs, n, m]", None), ("bs n m", None), ("(bs,n,m,)", None),
        ("torch.Size([bs, n, m])", None), ("(bs, 4, m)", None), ("( bs , n , m )", None),
        ("(n, m)", "extra-batch-sum"), ("(4, m)", "extra-batch-sum"), ("()", "wrong-shape"), ("scalar", "wrong-shape"),
        ("(m, n, bs)", "transposed"), ("(bs, m, 4)", "transposed"), ("(bs, n)", "wrong-shape"), ("7", "wrong-shape"),
        ("bs*n*m", None), ("(bs, n+1)", "wrong-shape"), ("(((", "not-read"), ("BS, N, M", "not-read"),
    ],
)  # fmt: skip
def test_a_shape_may_be_written_in_many_ways(answer: str, code: str | None) -> None:
    assert told(SHAPE, answer) == code


def test_a_single_axis_and_a_single_number_are_shapes() -> None:
    one = SHAPE.model_copy(update={"right": "(m,)", "wrong": {}})
    assert [told(one, answer) for answer in ("(m,)", "(m)", "m", "[m]")] == [None] * 4
    none = SHAPE.model_copy(update={"right": "()", "wrong": {}})
    assert [told(none, answer) for answer in ("()", "scalar", "( )", "[]")] == [None] * 4


EXPRESSION = Expression.model_validate(
    {
        **COMMON, "kind": "expression", "right": "inp.T @ out.g",
        "given": {"inp": "bs n", "out.g": {"axes": "bs m"}, "w": "n m"},
        "wrong": {"inp.T @ out.g / bs": {"code": "mean-for-sum", "says": "No."}},
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("inp.T @ out.g", None), ("inp.t() @ out_g", None), ("(out.g.T @ inp).T", None),
        ("inp.T @ (out.g / bs)", "mean-for-sum"), ("(inp / len(inp)).T @ out.g", "mean-for-sum"),
        ("-inp.T @ out.g", "wrong-sign"), ("2 * inp.T @ out.g", "wrong-factor"), ("out.g.T @ inp", "transposed"),
        ("inp.T @ out.g + w", "unknown"), ("w", "unknown"), ("0 * w", "unknown"),
        ("inp", "wrong-shape"), ("1", "wrong-shape"),
        ("inp @ out.g", "error"), ("inp.T @", "not-read"), ("w.g", "not-read"), ("exp(w)", "unknown"),
        ("w / 0", "not-finite"), ("eye(1000)", "not-read"),
    ],
)  # fmt: skip
def test_a_formula_is_judged_by_its_values(answer: str, code: str | None) -> None:
    assert told(EXPRESSION, answer) == code


def test_a_wrong_shape_is_told_in_axis_names() -> None:
    found = mistake_in(EXPRESSION, "inp[:, :, None] * out.g[:, None]")
    assert found is not None
    assert found.says == "It gives (bs, n, m). A gradient has the shape of what it belongs to."


def test_a_variable_is_drawn_where_its_author_says() -> None:
    changes = {"right": "log(a)", "given": {"a": {"low": 0.5}}, "wrong": {}}
    root = Expression.model_validate({**EXPRESSION.model_dump(), **changes})
    assert told(root, "log(a**2) / 2") is None
    assert told(root, "log(a - 2)") == "not-finite"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("it is not much", "Write the number alone, with its sign, as a decimal, a fraction or a product of numbers."),
        ("np.mode(3)", "There is no `mode` here: write a number."),
        ("10.04 parsecs", "`parsecs` is no unit here: give the number in MB."),
        ("10.04 kB", "The digits are right; the unit or the point in them is not."),
        ("10.04 TB", "The digits are right; the unit or the point in them is not."),
    ],
)
def test_what_is_said_of_a_number_and_its_unit(answer: str, says: str) -> None:
    found = mistake_in(NUMBER, answer)
    assert found is not None
    assert found.says == says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("out.g.mode(0)", "There is no `mode` here; there is inp, out.g, w."),
        ("not out.g", "`not` cannot be read here: write `~`."),
        ("out.g (not averaged)", "Write the formula alone: leave out `(not averaged)`."),
        ("sum of the rows of out.g", "Write a formula of operators and functions, not a sentence."),
    ],
)
def test_code_is_quoted_as_it_was_typed(answer: str, says: str) -> None:
    found = mistake_in(EXPRESSION, answer)
    assert found is not None
    assert found.says == says


WORD = Word.model_validate({**COMMON, "kind": "word", "right": "RuntimeError", "wrong": {"None": WRONG}})


@pytest.mark.parametrize(
    ("answer", "code"),
    [("RuntimeError", None), ("runtimeerror", None), ("error", None), ("None", "wrong-sign"), ("9", "unknown")],
)
def test_a_word_is_compared_as_a_word(answer: str, code: str | None) -> None:
    assert told(WORD, answer) == code
    assert told(WORD.model_copy(update={"right": "None", "wrong": {}}), "error") == "unknown"


def predict(listing: str, **changes: object) -> Quiz:
    question = {**COMMON, "kind": "predict", "listing": listing, **changes}
    return Quiz({"q": Predict.model_validate(question)}, {})


def keyed(quiz: Quiz) -> Quiz:
    return Quiz(quiz.questions, compute_keys(quiz))


@pytest.mark.parametrize(
    ("listing", "kind", "right"),
    [
        ("2 + 2", "number", "4"),
        ("x = 1\nx / 3", "number", "0.3333333333"),
        ("1 == 1", "word", "True"),
        ("None", "word", "None"),
        ("'a' + 'b'", "word", "ab"),
        ("(3, 4)", "shape", "(3, 4)"),
        ("(3,)", "shape", "(3,)"),
        ("()", "shape", "()"),
        ("float('inf')", "word", "inf"),
        ("1 / 0", "word", "ZeroDivisionError"),
        ("import torch\ntorch.ones(2, 3).T.shape", "shape", "(3, 2)"),
        ("import torch\ntorch.ones(2, 3).sum()", "number", "6"),
        ("import torch\ntorch.ones(2).backward()", "word", "RuntimeError"),
        ("import numpy as np\nnp.float32(0.5)", "number", "0.5"),
        ("print('nobody reads this')\n1", "number", "1"),
        ("import warnings\nwarnings.warn('nor this')\n1", "number", "1"),
    ],
)
def test_the_key_of_a_prediction_is_what_its_last_line_gives(listing: str, kind: str, right: str) -> None:
    question = question_with_key(keyed(predict(listing)), "q", 0)
    assert (question.kind, question.right) == (kind, right)
    assert mistake_in(question, right) is None


@pytest.mark.parametrize(
    ("listing", "says"),
    [
        ("x = 1", "must end with an expression"),
        ("x = (", "line 1 of the listing is not Python"),
        ("undefined", "stops with NameError"),
        ("[1, 2]", "gives a list"),
        ("import torch\ntorch.ones(2)", "gives a Tensor"),
        ("# nothing", "must end with an expression"),
    ],
)
def test_a_listing_that_gives_nothing_to_predict_is_refused(listing: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        compute_keys(predict(listing))


def test_a_prediction_has_a_key_for_every_draw_of_its_parameters() -> None:
    quiz = keyed(predict("{n} * {m}", params={"n": [2, 3], "m": [5, 7]}, wrong={"{n + m}": WRONG}))
    assert {key["right"] for key in quiz.keys["q"].values()} == {"10", "14", "15", "21"}
    assert quiz.keys["q"]["n=3 m=7"] == {"kind": "number", "right": "21"}
    assert told(question_with_values(quiz, "q", {"n": 3.0, "m": 7.0}), "10") == "wrong-sign"


def test_a_prediction_without_its_key_says_what_to_do() -> None:
    with pytest.raises(SpecError, match="run handgrad build"):
        question_with_key(predict("1 + 1"), "q", 0)


def test_keys_are_stored_as_one_line_for_each_question(tmp_path: Path) -> None:
    keys = {"a": {"": {"kind": "number", "right": "4"}}, "b": {"n=1": {"kind": "word", "right": "é"}}}
    (tmp_path / "quiz.yaml").write_text(QUIZ)
    (tmp_path / "quiz_keys.json").write_text(keys_text(keys))
    assert keys_text(keys).count("\n") == 4
    assert read_quiz(tmp_path / "quiz.yaml").keys == keys
    (tmp_path / "quiz_keys.json").write_text("{")
    with pytest.raises(SpecError, match="write it anew"):
        read_quiz(tmp_path / "quiz.yaml")


def test_a_question_on_one_line_keeps_a_loop_apart_from_what_follows_it() -> None:
    text = predict("s = 0\nfor a in (1, 2):\n    b = 2 * a\n    s += b\n\ns").questions["q"].text
    assert text.endswith(" Code: `s = 0`, then `for a in (1, 2): b = 2 * a; s += b`, then `s`")
    assert predict("a = 1\na").questions["q"].text.endswith(" Code: `a = 1; a`")


def test_every_kind_of_question_is_known_by_its_name() -> None:
    assert list(KINDS) == ["choice", "choices", "number", "shape", "expression", "predict"]


def test_an_answer_far_too_long_is_refused_by_every_kind(read: Read) -> None:
    for question in (question_with_key(read(QUIZ), "pick", 0), CHOICES, NUMBER, SHAPE, EXPRESSION, WORD):
        assert told(question, "x, " * 40_000) == "not-read"


def test_a_second_name_is_no_remark_though_it_stands_in_the_text_of_the_first() -> None:
    right = {
        "direct": {"text": "The entry itself, in inp - mean", "code": "missing-path", "says": "The entry is missing."},
        "mean": {"text": "The mean of the row", "code": "missing-path", "says": "The mean is missing."},
        "width": {"text": "The deviation of the row", "code": "missing-path", "says": "The deviation is missing."},
    }
    question = Choices.model_validate(
        {**COMMON, "kind": "choices", "right": right, "wrong": {"rows": {**WRONG, "text": "Rows"}}}
    )
    mistake = mistake_in(question, "direct, mean")
    assert mistake is not None
    assert mistake.says == "The deviation is missing."
