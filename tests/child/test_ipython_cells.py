"""Cells of a notebook are parsed as Python: lines are numbered through all cells, IPython's commands are left out."""

from __future__ import annotations

import ast
import time

import pytest
from helpers.courses import AT_ONCE

from grader.child import ipython_cells
from grader.sandbox.source_text import LONGEST, Source

DEEP = {
    "minus signs": "-" * 200_000 + "1",
    "brackets": "(" * 200_000,
    "attributes": "x" + ".a" * 200_000,
    "sums": "1" + "+1" * 200_000,
    "a null byte": "x = 1\0",
    "a lone surrogate": "x = '\ud800'",
}

IGNORED = {
    "a magic": ("%matplotlib inline\nx = 1", [1], ["Pass", "Assign"]),
    "a shell line": ("x = 1\n!pip install torch --quiet\ny = 2", [2], ["Assign", "Pass", "Assign"]),
    "a shell line with a quote": ("!echo it's\ny = 2", [1], ["Pass", "Assign"]),
    "a shell line that goes on": ("!pip install \\\n  torch\ny = 2", [1, 2], ["Pass", "Assign"]),
    "help": ("torch.nn.Linear?\n?x\nx??", [1, 2, 3], ["Pass", "Pass", "Pass"]),
    "a command's result": ("files = !ls\na, b = %who\nx = 1", [1, 2], ["Pass", "Pass", "Assign"]),
    "inside a block": ("if x:\n    %cd f\nelse:\n\t!ls", [2, 4], ["If"]),
    "a magic without its statement": ("%time\n%timeit -n 10 -r 3\nx = 1", [1, 2], ["Pass", "Pass", "Assign"]),
    "a result of a shell line in an entry": ("x.y[0] = !ls\nx = 1", [1], ["Pass", "Assign"]),
    "what nbconvert makes of them": (
        "get_ipython().run_line_magic('matplotlib', 'inline')\nget_ipython().system('ls')\n"
        "x = get_ipython().getoutput('ls')\nget_ipython().run_cell_magic('bash', '', 'ls')\n"
        "get_ipython().magic('pylab')\nIPython.get_ipython().magic('pwd')",
        [1, 2, 3, 4, 5, 6],
        ["Pass"] * 6,
    ),
    "a timed cell": ("\n%%time\nx = 1", [2], ["Pass", "Assign"]),
    "a captured cell with a magic": ("%%capture out\n%pip list\nx = 1", [1, 2], ["Pass", "Pass", "Assign"]),
    "another language": ("%%bash\nfor f in *; do echo $f; done", [1], ["Pass"]),
    "a file that is written": ("%%writefile run.py\ndef lin_grad(): pass\nlin_grad()", [1], ["Pass"]),
    "a file in another language": ("%%writefile lin_grad.c\ndef lin_grad(): pass", [1], ["Pass"]),
    "a written file that is named after its function": (
        "%%writefile my/lin_grad.py\nimport torch\ndef lin_grad(): pass",
        [1],
        ["Pass", "Import", "FunctionDef"],
    ),
    "one in quotes and added to": ('%%file -a "lin_grad.py"\ndef lin_grad(): pass', [1], ["Pass", "FunctionDef"]),
    "nothing": ("x = 7 \\\n    % 3\ny = (1\n%2)", [], ["Assign", "Assign"]),
    "text with marks": ("s = '''\n%magic\n!ls\n'''", [], ["Assign"]),
}


@pytest.mark.parametrize(("cell", "ignored", "kinds"), IGNORED.values(), ids=IGNORED)
def test_what_only_ipython_reads_is_passed_over(cell: str, ignored: list[int], kinds: list[str]) -> None:
    parsed = ipython_cells.parse(cell, 10)
    assert sorted(parsed.ignored) == [line + 10 for line in ignored]
    assert [type(node).__name__ for node in parsed.tree.body] == kinds


RUN = {
    "%time w.g = x.T": "w.g = x.T",
    "%time -x": "-x",
    "%timeit -n 10 -r3 -q w.g = x": "w.g = x",
    "%prun -s cumulative -l 0.2 x = 3": "x = 3",
    "%lprun -f f -m mod f(3)": "f(3)",
    "y = %time a == b": "y = a == b",
    "w.g[:] = %time -y": "w.g[:] = -y",
    "%time x = \\\n   3": "x = 3",
    "if x:\n    %time w.g = x;": "if x:\n    w.g = x",
    "%%timeit -n 3 y = 2\nx = 1": "y = 2\nx = 1",
    "get_ipython().run_line_magic('time', 'w.g = x')": "w.g = x",
    "get_ipython().run_line_magic('timeit', '-n 3 w.g = x')": "w.g = x",
    "get_ipython().magic('time w.g = x')": "w.g = x",
    "y = get_ipython().run_line_magic('time', 'f(1)')": "y = f(1)",
    "def f():\n    get_ipython().run_line_magic('time', 'w.g = 1; w.h = 2')": "def f():\n    w.g = 1\n    w.h = 2",
    r"get_ipython().run_cell_magic('time', '', 'def f(x):\n    %time y = x\n    return y\n')": (
        "def f(x):\n    y = x\n    return y"
    ),
    r"get_ipython().run_cell_magic('capture', 'out', 'x = 1\n')": "x = 1",
    r"get_ipython().run_cell_magic('writefile', 'f.py', 'def f():\n    x = 1\n')": "def f():\n    x = 1",
    r"""get_ipython().run_cell_magic('time', '', "get_ipython().run_line_magic('time', 'x = 1')")""": "x = 1",
}


@pytest.mark.parametrize(("cell", "python"), RUN.items())
def test_what_ipython_runs_is_run(cell: str, python: str) -> None:
    parsed = ipython_cells.parse(cell, 10)
    assert ast.unparse(parsed.tree) == python
    assert parsed.ignored == ()
    assert {node.lineno for node in ast.walk(parsed.tree) if hasattr(node, "lineno")} <= {11, 12}


def test_the_statement_behind_a_magic_is_read_as_python() -> None:
    for cell in ("x = 1\n%time f(", "x = 1\nget_ipython().run_line_magic('time', 'f(')"):
        with pytest.raises(SyntaxError) as raised:
            ipython_cells.parse(cell, 10)
        assert raised.value.lineno == 12


@pytest.mark.parametrize("cell", ["x = (", "def f(:\n  pass", "if !x: pass", "for x in y", "print 1"])
def test_what_is_wrong_in_both_languages_is_an_error(cell: str) -> None:
    with pytest.raises(SyntaxError):
        ipython_cells.parse(cell, 0)


def test_errors_and_statements_count_their_lines_through_all_cells() -> None:
    texts = ["a = 1\r\nb = 2\rc = 3\n", "d = 4", "\n\ne = )"]
    assert ipython_cells.line_offsets(texts) == [0, 4, 5]
    assert [node.lineno for node in ipython_cells.parse(texts[0], 0).tree.body] == [1, 2, 3]
    assert ipython_cells.parse(texts[1], 4).tree.body[0].lineno == 5
    with pytest.raises(SyntaxError) as raised:
        ipython_cells.parse(texts[2], 5)
    assert raised.value.lineno == 8


def test_more_commands_than_anyone_writes_are_no_python() -> None:
    with pytest.raises(SyntaxError):
        ipython_cells.parse("%pwd\n" * 1000, 0)


def test_a_line_without_end_takes_no_time() -> None:
    started = time.process_time()
    for line in (" " * 300_000 + "$", "x ?" * 100_000 + "$", "a ,." * 75_000 + "$", "a" + " " * 300_000 + "$"):
        with pytest.raises(SyntaxError):
            ipython_cells.parse(f"x = 1\n{line}", 0)
    assert time.process_time() - started < AT_ONCE


@pytest.mark.parametrize("what", DEEP)
def test_a_cell_that_cannot_be_read_raises_what_can_be_caught(what: str) -> None:
    with pytest.raises((SyntaxError, RecursionError, MemoryError)):
        ipython_cells.parse(DEEP[what], 0)


def test_a_line_is_found_in_its_file_or_cell() -> None:
    assert Source.of(b"a\nb\n", "exercises/04_linear/lin_grad.py").location(2) == " (lin_grad.py, line 2: b)"
    notebook = Source.of(["a\nb", "", "c\r\n  d"])
    assert [notebook.location(line) for line in (1, 2, 3, 4, 5)] == [
        " (cell 1, line 1: a)", " (cell 1, line 2: b)", " (cell 2, line 1)", " (cell 3, line 1: c)",
        " (cell 3, line 2: d)",
    ]  # fmt: skip
    assert notebook.location(99) == " (cell 3, line 96)"
    assert notebook.location(-1) == " (cell 1, line -1)"


def test_cells_that_are_too_long_are_emptied_and_counted() -> None:
    source = Source.of(["a" * LONGEST, "b" * (LONGEST + 1), "\x01" * LONGEST, "d"])
    assert [len(cell) for cell in source.cells] == [LONGEST, 0, 0, 1]
    assert source.skipped_cells == (1, 2)


def test_the_loop_around_a_line_is_the_outermost_while_loop() -> None:
    text = "def f():\n    for i in range(3):\n        while i:\n            while True:\n                i += 1\n"
    source = Source.of(["x = 1", text])
    assert [source.loop_around(line) for line in range(1, 7)] == [None, None, None, 4, 4, 4]
    assert Source.of(["def f(:\n"]).loop_around(1) is None
