"""Definitions are read from the syntax tree, or from the text of a cell that cannot be parsed."""

from __future__ import annotations

import ast

import pytest

from grader.sandbox.definitions import comparable_text, definitions, is_placeholder
from grader.sandbox.source_text import Source

FOUND = {
    "a function": "def lin_grad(): pass",
    "one that waits": "async def lin_grad(): pass",
    "a class": "class lin_grad: pass",
    "a lambda": "lin_grad = lambda x: x",
    "a part of a function": "lin_grad = partial(f, 1)",
    "another name of one": "lin_grad = mine",
    "with a type": "lin_grad: F = mine",
    "an import": "from mine import f as lin_grad",
    "a module": "import mine as lin_grad",
    "in a block": "if x:\n    1\nelse:\n    def lin_grad(): pass",
    "in a try": "try:\n    1\nexcept E:\n    lin_grad = f",
    "in a with": "with x:\n    def lin_grad(): pass",
    "decorated": "@torch.no_grad()\ndef lin_grad(): pass",
    "two spaces": "def  lin_grad (x): pass",
    "below a magic": "%matplotlib inline\ndef lin_grad(x):\n    %time pass",
    "in a timed cell": "%%time\ndef lin_grad(x): pass",
    "exported": "get_ipython().run_cell_magic('time', '', 'def lin_grad(): pass')",
    "beside no Python": "def lin_grad(x): pass\nx = (",
    "in a cell of no Python": "x = )\nclass lin_grad: pass",
    "and no Python below": "lin_grad = f\nfor",
    "in a file that a cell writes": "%%writefile lin_grad.py\ndef lin_grad(x): pass",
}
NOT_FOUND = {
    "a longer name": "def lin_grad_nd(): pass",
    "a longer name before": "def my_lin_grad(): pass",
    "a longer name in no Python": "def lin_grad_nd(): x = (",
    "a call": "y = lin_grad(x)",
    "a number": "lin_grad = 3",
    "inside a function": "def f():\n    def lin_grad(): pass",
    "inside a class": "class A:\n    def lin_grad(self): pass",
    "a comment": "# def lin_grad(x):",
    "a text": "'''\ndef lin_grad(x): pass\n'''",
    "a text in no Python": "'''\ndef lin_grad(x): pass\n'''\nx = (",
    "another language": "%%javascript\ndef lin_grad(x): pass",
    "a file of another name": "%%writefile answers.py\ndef lin_grad(x): pass",
    "a comparison in no Python": "lin_grad == (",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_a_definition_is_found(text: str) -> None:
    assert [(each.name, each.cell) for each in definitions(["x = 1", text], {"lin_grad", "x_grad"})] == [
        ("lin_grad", 1)
    ]


@pytest.mark.parametrize("text", NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_defines_something_else_is_not(text: str) -> None:
    assert definitions([text], {"lin_grad"}) == []


def test_definitions_have_their_lines_and_their_order() -> None:
    text = "if a:\n    def f(): pass\nelif b:\n    f = g\n@one\n@two\ndef f(): pass\n"
    found = definitions([text, "from m import f"], {"f"})
    assert [(each.cell, each.line, each.module) for each in found] == [(0, 2, ""), (0, 4, ""), (0, 5, ""), (1, 1, "m")]


@pytest.mark.parametrize(
    "text", ["(" * 100_000 + "lin_grad", "lin_grad" + ".a" * 100_000, "lin_grad = 1\0", "-" * 99_999]
)
def test_what_cannot_be_parsed_raises_nothing(text: str) -> None:
    assert all(each.statement is None for each in definitions([text], {"lin_grad"}))


@pytest.mark.parametrize("statement", ["raise ValueError({})", "return {}", "x = {}"])
def test_a_number_too_long_to_be_written_is_no_placeholder(statement: str) -> None:
    """Python shows no number of more than 4300 digits."""
    function = ast.parse("def f(x):\n    " + statement.format(f"0x{'f' * 5000}")).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert not is_placeholder(function.body[0])
    assert comparable_text(function) == ""
    assert not Source((f"def f(x):\n    {statement.format('0x' + 'f' * 5000)}\n",)).has_body("f", "pass")
