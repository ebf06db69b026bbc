"""The learner's own statements: those that give an answer, and none where that is not seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.courses import ROOT

from grader.course.course import load_course
from grader.rendering.own_statements import MOST_LINES, Statement, statements_of
from grader.rendering.render_html import ResultDisplay, styles_inlined
from grader.results.records import AnswerResult, ExerciseResult

STORED = '''\
def lin_grad(inp, out, w, b):
    """Store the gradients."""
    inp.g = out.g @ w.t()
    for row in range(3):
        w.g += inp[row]
    total = out.g.sum(0)
    b.g = total
    def inner():
        inp.g = 0
'''


def _wrong(name: str, operator: str = "", /, message: str = "", **parameters: object) -> AnswerResult:
    """Return a wrong answer, with the operator and the parameters of the only edit that explains it."""
    mistake = {"edits": [{"operator": operator, "parameters": parameters}], "cause": "", "at": []} if operator else None
    return AnswerResult(name, "failed", 0, 1, "error" if message else "wrong-local", message, mistake=mistake)


def _marked(body: str, answer: AnswerResult) -> list[str]:
    """Return what is marked in the statements of a function with this body."""
    code = "def f(inp, out, w, lam):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    found = statements_of([code], "f", answer)
    return [one.text[slice(*one.marked)] for one in found if one.marked is not None]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("inp.g", [Statement(3, "inp.g = out.g @ w.t()", role="where inp.g is stored")]),
        ("w.g", [Statement(5, "w.g += inp[row]", role="where w.g is stored")]),
        (
            "b.g",
            [
                Statement(6, "total = out.g.sum(0)", role="where it is computed"),
                Statement(7, "b.g = total", role="where b.g is stored"),
            ],
        ),
        ("return", []),
    ],
)
def test_the_statements_that_store_an_answer_are_found(answer: str, found: list[Statement]) -> None:
    assert statements_of([STORED], "lin_grad", _wrong(answer)) == found


FILLED = """\
def unfold_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-2]):
        inp.g[..., i : i + size] = out.g[..., i, :]
"""
RETURNED = """\
def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    flat = g.view(-1)
    for i in range(x.numel()):
        flat[i] = f(x).sum()
    return g
"""
PAIR = """\
def adam_step(p, g, m, v):
    m = 0.9 * m
    p = p - m
    return p, m
"""
BEGUN = "def rnn(x, w):\n    x.g, w.g = (torch.zeros_like(each) for each in (x, w))\n    w.g += x\n"


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [(FILLED, "inp.g", [4]), (RETURNED, "return", [5]), (PAIR, "return.0", [3, 4]), (PAIR, "return.1", [2, 4]),
     (PAIR, "return.7", [4]), (BEGUN, "w.g", [3]), (BEGUN, "x.g", [2])],
)  # fmt: skip
def test_an_array_that_is_filled_is_shown_by_what_fills_it(text: str, name: str, lines: list[int]) -> None:
    function = text.partition("(")[0].removeprefix("def ")
    assert [each.line for each in statements_of([text], function, _wrong(name))] == lines


CHANGED = "the function changes `{}` in place"


@pytest.mark.parametrize(
    ("body", "argument", "changing"),
    [
        ("y = x\ny += 2\nreturn y", "x", ["y += 2"]),
        ("flat = x.view(-1)\nflat[0] += h\nreturn flat * 1", "x", ["flat[0] += h"]),
        ("inp.g = out.g.mul_(2)", "out.g", ["inp.g = out.g.mul_(2)"]),
        ("g = out.g\ng[g > 0] = 0\ninp.g = g", "out.g", ["g[g > 0] = 0"]),
        ("for g in grads:\n    g *= 2\nreturn grads", "grads", ["g *= 2"]),
        ("g = out.g.clone()\ng *= 2\ninp.g = g", "out.g", []),
        ("inp.g += 1\nother.add_(1)", "inp", []),
        ("while needs:\n    needs.pop()", "needs", []),
    ],
)
def test_what_changes_an_argument_is_shown_and_not_the_answer(body: str, argument: str, changing: list[str]) -> None:
    code = "def f(inp, out, x, h, grads, needs, other):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    message = CHANGED.format(argument)
    for says in (message, f"{message}: adding a step and subtracting it again changes the last digits"):
        answer = AnswerResult("inp.g", "failed", 0, 1, "mutated-input", says)
        assert [each.text for each in statements_of([code], "f", answer)] == changing


def test_the_line_of_an_error_is_shown_and_none_for_a_rule_of_an_engine() -> None:
    text = "import sys\n\ndef f(x):\n    sys.exit(1)\n    return x\n"
    crash = AnswerResult("return", "failed", 0, 1, "crash", "the code ended the program (f.py, line 4: sys.exit(1))")
    assert statements_of([text], "f", crash) == [Statement(4, "sys.exit(1)")]
    elsewhere = replace(crash, message="the code ended the program (f.py, line 1: import sys)")
    assert statements_of([text], "f", elsewhere) == []  # line 5 is never reached
    rule = replace(crash, code="wrong-local", message="the backward rule of relu is wrong: it is 1 everywhere")
    assert statements_of([text], "f", rule) == []
    assert statements_of([text], "f", replace(rule, message="the same mistake as in return.0"), rule) == []


RECURRENCE = """\
def rnn_grad(x, h0, wx, wh, out):
    states = [h0]
    for i in range(3):
        states.append((x[:, i] @ wx + states[-1] @ wh).tanh())
    h_g = out.g
    for i in reversed(range(3)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        h_g = {}
    h0.g = h_g
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sums_g @ wh", [(9, "")]),
        ("sums_g @ turned", [(8, "where x.g is stored")]),  # made before the first line, perhaps
        ("(lambda g: g @ wh)(sums_g)", [(8, "where x.g is stored")]),
    ],
)
def test_the_only_statement_that_uses_an_array_in_a_wrong_way_is_shown(line: str, found: list[tuple[int, str]]) -> None:
    """It is not where x.g is stored: that line is right."""
    wrong = _wrong("x.g", "wrongly-transposed", step="`h @ wh`", factor="h", arrangement="wh must be transposed")
    statements = statements_of([RECURRENCE.format(line)], "rnn_grad", wrong)
    assert [(each.line, each.role) for each in statements] == found
    other = _wrong("x.g", "sign-flipped", step="`h @ wh`", factor="h")
    assert [each.line for each in statements_of([RECURRENCE.format(line)], "rnn_grad", other)] == [8]


def test_no_statement_is_chosen_among_several_that_use_the_array() -> None:
    text = RECURRENCE.format("sums_g @ wh\n        h_g.add_(sums_g @ wh)")
    wrong = _wrong("x.g", "wrongly-transposed", step="`h @ wh`", factor="h")
    assert [each.line for each in statements_of([text], "rnn_grad", wrong)] == [8]


def test_the_head_of_a_function_is_shown_if_it_takes_too_few_arguments() -> None:
    text = "def lin_grad(\n    inp, w, b\n):\n    inp.g = b.g\n"
    wrong = AnswerResult("inp.g", "failed", 0, 1, "error", "lin_grad() takes 3 positional arguments but 4 were given")
    assert statements_of([text], "lin_grad", wrong) == [Statement(1, "def lin_grad(\n    inp, w, b\n):")]


def test_a_return_is_found_and_a_long_statement_is_cut() -> None:
    text = "def slope(f, x):\n    return sum([\n" + "        x,\n" * 20 + "    ])\n"
    (statement,) = statements_of([text], "slope", _wrong("return.0"))
    assert statement.line == 2
    assert statement.text.splitlines() == ["return sum([", *["    x,"] * (MOST_LINES - 1), "..."]


def test_of_several_cells_the_last_definition_counts() -> None:
    cells = ["def f(x):\n    return 1", "def f(x):\n    return 2", "f(3)"]
    assert statements_of(cells, "f", _wrong("return")) == [
        Statement(2, "return 2", role="where it is returned", cell=2)
    ]


@pytest.mark.parametrize(
    "text", ["", "def f(x:\n", "%matplotlib inline\ndef f(x):\n    return 1", "f = lambda x: 1", "\0"]
)
def test_what_is_no_python_or_no_function_has_none(text: str) -> None:
    assert statements_of([text], "f", _wrong("return")) == []


def test_a_doubtful_escape_is_no_warning() -> None:
    text = 'def f(x):\n    "\\d"\n    return 1'
    assert statements_of([text], "f", _wrong("return")) == [Statement(3, "return 1", role="where it is returned")]


SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x6 and 2x6) (f.py, line 2: ...). Here"


@pytest.mark.parametrize(
    ("body", "answer", "marked"),
    [
        ("w.g = (out.g * inp).sum(0)", _wrong("w.g", "another-partner", other="inp"), "inp"),
        ("w.g = out.g * (inp @ w)", _wrong("w.g", "another-partner", other="`inp @ w`"), "inp @ w"),
        ("w.g = out.g * inp**2 * w", _wrong("w.g", "times-operand", factor="inp"), "inp**2"),
        ("w.g = out.g.mean(0)", _wrong("w.g", "averaged", sizes="bs"), "mean(0)"),
        ("w.g = inp.t() @ out.g / len(inp)", _wrong("w.g", "averaged", sizes="bs"), "len(inp)"),
        ("w.g = inp.t() @ out.g / inp.shape[0]", _wrong("w.g", "factor-divided"), "inp.shape[0]"),
        ("w.g = -out.g * inp", _wrong("w.g", "result-negated"), "-"),
        ("w.g = out.g.sum()", _wrong("w.g", "result-summed", how="sum", axis="m"), "sum()"),
        ("w.g = out.g * (inp < 0)", _wrong("w.g", "mask-inverted"), "inp < 0"),
        ("w.g = 2 * 0.01 * w", _wrong("w.g", "factor-number-typed-in", quantity="lam"), "0.01"),
        ("w.g = out.g / 5", _wrong("w.g", "factor-typed-in", number=5), "5"),
        ("w.g = out.g * inp.exp()", _wrong("w.g", "derivative-of-another-function", name="exp"), "exp()"),
        ("w.g = out.g @ w", _wrong("w.g", message=SHAPES), "out.g @ w"),
        ("\u00e9 = 2 * inp\nw.g = '\u00e9' * (out.g @ out)", _wrong("w.g", "forward-value", choice="out"), "out"),
        ("a = out.g\nw.g = a * inp * out", _wrong("w.g", "value-for-gradient", other="out"), "out"),
        ("total = out.g.mean(0)\nw.g = total", _wrong("w.g", "averaged"), "mean(0)"),
        (
            "if lam:\n    w.g = (\n        out.g\n        * inp\n    )",
            _wrong("w.g", "times-operand", factor="inp"),
            "inp",
        ),
    ],
)
def test_the_part_that_is_wrong_is_marked(body: str, answer: AnswerResult, marked: str) -> None:
    assert _marked(body, answer) == [marked]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("w.g = inp * out.g * inp", _wrong("w.g", "another-partner", other="inp")),  # which one?
        ("a = inp * out\nw.g = a * inp", _wrong("w.g", "times-operand", factor="inp")),  # one of them in a variable
        ("a = inp\na = a * 2\nw.g = a * inp", _wrong("w.g", "times-operand", factor="inp")),
        ("w.g = inp * (inp == out)", _wrong("w.g", "value-for-gradient", other="out")),  # only in a mask
        ("w.g = torch.zeros_like(inp)\nw.g[0] = out.g", _wrong("w.g", "times-operand", factor="inp")),
        ("w.g = out.g.mean(0) / len(inp)", _wrong("w.g", "averaged")),
        ("w.g = out.g * inp", _wrong("w.g", "result-negated")),
        ("w.g = (1 - (inp > 0)) * out.g", _wrong("w.g", "mask-inverted")),
        ("w.g = out.g * inp", _wrong("w.g", "another-partner", other="`a step (...) of it`")),
        ("w.g = out.g * inp", _wrong("w.g", "no-such-operator", other="inp")),
        ("w.g = out.g * inp", _wrong("w.g")),
        ("w.g = out.g @ w @ inp", _wrong("w.g", message=SHAPES)),
        ("a = 1\nw.g = out.g @ w", _wrong("w.g", message=SHAPES)),  # another line
        ("w.g = (out\n.mean(\n0))", _wrong("w.g", "averaged")),  # over two lines
        (f"w.g = inp{' + w' * 5000}", _wrong("w.g", "times-operand", factor="inp")),  # too long to be read
        ("w.g, b.g = inp, out", _wrong("w.g", "forward-value", choice="inp")),
    ],
)
def test_nothing_is_marked_where_it_is_not_certain(body: str, answer: AnswerResult) -> None:
    assert _marked(body, answer) == []


def test_a_mark_is_html() -> None:
    exercise = load_course(ROOT).find("lin_grad")
    answer = _wrong("b.g", "averaged", sizes="bs")
    result = ExerciseResult("lin_grad", "04_linear", (answer,))
    code = "def lin_grad(inp, out, w, b):\n    b.g = out.g.mean(0) if 1 < 2 else 0\n"
    html = ResultDisplay(exercise, result, code=[code]).html()
    assert 'b.g = out.g.<mark class="part">mean(0)</mark> if 1 &lt; 2 else 0</pre>' in html
    assert "underline wavy" in styles_inlined(html)
