"""Read pages of submissions: heads, changes of another cell, and the errors of what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.submission_pages import read_page
from grader.errors import ReadError

PAGE = '''"""lin_grad: out = inp @ w + b"""

# %% right: einsum
import torch


def lin_grad(inp, out, w, b):
    ...


# %% wrong: an empty file | *: missing-function


# %% wrong: transposed, and a sign turned round | w.g: transposed or unknown; inp.g, b.g: wrong-sign
# what a learner wrote above the code stays
def lin_grad(inp, out, w, b):
    ...
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "04_linear"
    folder.mkdir()
    return folder / "lin_grad.py"


def test_a_cell_is_a_submission(path: Path) -> None:
    path.write_text(PAGE)
    right, empty, wrong = read_page(path)
    assert right.id == "04_linear/lin_grad: einsum"
    assert right.source == "import torch\n\n\ndef lin_grad(inp, out, w, b):\n    ...\n"
    assert right.expected == {}
    assert (empty.source, empty.expected) == ("\n", {"*": {"missing-function"}})
    assert wrong.source.startswith("# what a learner wrote above the code stays\ndef")
    assert wrong.expected == {"w.g": {"transposed", "unknown"}, "inp.g": {"wrong-sign"}, "b.g": {"wrong-sign"}}


CHANGES = """\
# lin_grad

# %% wrong: bias from all rows but one | b.g: wrong-rows
# base: a loop

#-     b.g = out.g.sum(0)
#+     b.g = out.g[1:].sum(0)
#+
#+     # of the rows behind the first


# %% right: a loop
import torch

def lin_grad(inp, out, w, b):

    w.g = torch.zeros(2)
    b.g = out.g.sum(0)


# %% wrong: nothing is imported | w.g: exception
# base: a loop

#- import torch
#
#  def lin_grad(inp, out, w, b):
"""


def test_a_cell_may_hold_the_changes_of_another_one(path: Path) -> None:
    path.write_text(CHANGES)
    rows, base, imported = read_page(path)
    assert rows.source == base.source.replace("g.sum(0)", "g[1:].sum(0)\n\n    # of the rows behind the first")
    assert imported.source == base.source.removeprefix("import torch\n")
    assert rows.expected == {"b.g": {"wrong-rows"}}


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("# base: einsum\n\n#- x = 1", "has 2 times what this block changes"),
        ("# base: einsum\n\n#- x = 2", "has 0 times what this block changes"),
        ("# base: einsum\n\n#+ x = 2", "times what this block changes, not once"),
        ("# base: einsum\n\n#  y = 1\nx = 2", "'x = 2': a change begins with"),
        ("# base: einsum\n\n# x = 1", "'# x = 1': a change begins with"),
        (
            "# base: no such cell\n\n#- y = 1",
            "no cell of this page that holds a whole submission is called 'no such cell'",
        ),
        ("# base: changed\n\n#- y = 1", "no cell of this page that holds a whole submission is called 'changed'"),
    ],
)
def test_changes_that_cannot_be_made_are_an_error(path: Path, cell: str, message: str) -> None:
    path.write_text(f"# lin_grad\n\n# %% right: einsum\nx = 1\ny = 1\nx = 1\n# %% right: changed\n{cell}\n")
    with pytest.raises(ReadError, match=message) as error:
        read_page(path)
    assert error.value.line == 7


def test_an_answer_that_is_not_listed_must_pass(path: Path) -> None:
    path.write_text(PAGE)
    right, empty, wrong = read_page(path)
    given = {"inp.g": "wrong-sign", "w.g": None, "return": "timeout"}
    assert wrong.mismatches(given) == {
        "w.g": (None, ["transposed", "unknown"]),
        "return": ("timeout", ["passed"]),
    }
    assert right.mismatches({"w.g": "unknown", "b.g": None}) == {"w.g": ("unknown", ["passed"])}
    assert empty.mismatches({"w.g": "missing-function", "b.g": "missing-function"}) == {}


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("# %%", "is no head"),
        ("# %% odd: a title", "is no head"),
        ("# %% right:", "is no head"),
        ("# %% wrong: a title | ", "is no head"),
        ("# %% wrong: a title", "lists the answers that fail"),
        ("# %% right: a title | w.g: unknown", "a right one none"),
        ("# %% wrong: a title | w.g", "each answer once"),
        ("# %% wrong: a title | w.g: unknown; w.g: error", "each answer once"),
        ("# %% right: einsum", "another cell of this page is called 'einsum' too"),
    ],
)
def test_a_head_that_cannot_be_read_is_an_error(path: Path, head: str, message: str) -> None:
    path.write_text(f"# lin_grad\n\n# %% right: einsum\n...\n\n{head}\n...\n")
    with pytest.raises(ReadError, match=message) as error:
        read_page(path)
    assert error.value.line == 6
