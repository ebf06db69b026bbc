"""The learner's own statements: those that give an answer, and none where that is not seen."""

from __future__ import annotations

import pytest

from grader.rendering.own_statements import MOST_LINES, Statement, statements_of

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


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("inp.g", [Statement(3, "inp.g = out.g @ w.t()")]),
        ("w.g", [Statement(5, "w.g += inp[row]")]),
        ("b.g", [Statement(6, "total = out.g.sum(0)"), Statement(7, "b.g = total")]),
        ("return", []),
    ],
)
def test_the_statements_that_store_an_answer_are_found(answer: str, found: list[Statement]) -> None:
    assert statements_of([STORED], "lin_grad", answer) == found


def test_a_return_is_found_and_a_long_statement_is_cut() -> None:
    text = "def slope(f, x):\n    return sum([\n" + "        x,\n" * 20 + "    ])\n"
    (statement,) = statements_of([text], "slope", "return.0")
    assert statement.line == 2
    assert statement.text.splitlines() == ["return sum([", *["    x,"] * (MOST_LINES - 1), "..."]


def test_of_several_cells_the_last_definition_counts() -> None:
    cells = ["def f(x):\n    return 1", "def f(x):\n    return 2", "f(3)"]
    assert statements_of(cells, "f", "return") == [Statement(2, "return 2")]


@pytest.mark.parametrize(
    "text", ["", "def f(x:\n", "%matplotlib inline\ndef f(x):\n    return 1", "f = lambda x: 1", "\0"]
)
def test_what_is_no_python_or_no_function_has_none(text: str) -> None:
    assert statements_of([text], "f", "return") == []


def test_a_doubtful_escape_is_no_warning() -> None:
    assert statements_of(['def f(x):\n    "\\d"\n    return 1'], "f", "return") == [Statement(3, "return 1")]
