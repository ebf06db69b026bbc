"""Pages of submissions: what their heads say, and what is said of a head that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.corpus import page

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
    right, empty, wrong = page(path)
    assert right.id == "04_linear/lin_grad: einsum"
    assert right.source == "import torch\n\n\ndef lin_grad(inp, out, w, b):\n    ...\n"
    assert right.expected == {}
    assert (empty.source, empty.expected) == ("\n", {"*": {"missing-function"}})
    assert wrong.source.startswith("# what a learner wrote above the code stays\ndef")
    assert wrong.expected == {"w.g": {"transposed", "unknown"}, "inp.g": {"wrong-sign"}, "b.g": {"wrong-sign"}}


def test_an_answer_that_is_not_listed_must_pass(path: Path) -> None:
    path.write_text(PAGE)
    right, empty, wrong = page(path)
    found = {"inp.g": "wrong-sign", "w.g": None, "return": "timeout"}
    assert wrong.mismatches(found) == {
        "w.g": (None, ["transposed", "unknown"]),
        "return": ("timeout", ["passed"]),
    }
    assert right.mismatches({"w.g": "unknown", "b.g": None}) == {"w.g": ("unknown", ["passed"])}
    assert empty.mismatches({"w.g": "missing-function", "b.g": "missing-function"}) == {}


@pytest.mark.parametrize(
    ("head", "says"),
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
def test_a_head_that_cannot_be_read_is_found(path: Path, head: str, says: str) -> None:
    path.write_text(f"# lin_grad\n\n# %% right: einsum\n...\n\n{head}\n...\n")
    with pytest.raises(ValueError, match=says) as error:
        page(path)
    assert str(error.value).startswith(f"{path}:6: ")
