"""The examples of a lesson are run, and what they print is compared in meaning."""

from __future__ import annotations

import doctest
import signal
from pathlib import Path

import pytest

from grader.authoring import audit
from grader.authoring.audit import SameMeaning, example_problems

LESSON = "# A lesson\n\n```pycon\n>>> x = 2\n>>> {source}\n{output}\n```\n\nText behind the example.\n"


@pytest.mark.parametrize(
    ("source", "output", "problems"),
    [
        ("x + 1", "3", []),
        ("x + 1", "4", ["line 5: `x + 1` prints 3, and not 4: correct the example or its output."]),
        (
            "nonsense",
            "99.0",
            ["line 5: `nonsense` raises NameError: name 'nonsense' is not defined: correct the example or its output."],
        ),
        ("1 +", "2", ["line 5: `1 +` raises SyntaxError: invalid syntax: correct the example or its output."]),
        ("x / 0", "Traceback (most recent call last):\n    ...\nZeroDivisionError: division by zero", []),
    ],
)
def test_an_example_that_prints_something_else_is_a_problem(
    source: str, output: str, problems: list[str], tmp_path: Path
) -> None:
    lesson = tmp_path / "README.md"
    lesson.write_text(LESSON.format(source=source, output=output), encoding="utf-8")
    assert list(example_problems(lesson)) == problems


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="nothing interrupts an example on Windows")
@pytest.mark.parametrize("source", ["while True: pass", "import time; time.sleep(3600)"])
def test_an_example_that_does_not_end_is_a_problem(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "TIME_LIMIT", 0.2)
    lesson = tmp_path / "README.md"
    lesson.write_text(LESSON.format(source=source, output=">>> nonsense"), encoding="utf-8")
    says = f"line 5: `{source}` does not end within 0.2 seconds: correct the example or its output."
    assert list(example_problems(lesson)) == [says]


@pytest.mark.parametrize(
    ("want", "got", "is_same"),
    [
        ("tensor([1.0000, -0.5000])", "tensor([ 1.0000, -0.5000])", True),
        ("0.4313", "0.4314", True),
        ("0.4313", "0.4315", False),
        ("0.43", "0.4313", True),
        ("tensor(6.)", "tensor(7.)", False),
        ("tensor([6., 0.5])", "tensor([6.0000, 0.5000])", True),
        ("1.19e-07", "1.20e-07", True),
        ("1.19e-07", "1.19e-06", False),
        ("torch.Size([2, 3])", "torch.Size([2, 4])", False),
        ("tensor([1.0000])", "array([1.0000])", False),
        ("tensor([1., 2.])", "tensor([1., 2., 3.])", False),
        ("tensor(2., dtype=torch.float64)", "tensor(2., dtype=torch.float32)", False),
        ("a 0.5 ... z", "a 0.50 b c z", True),
        ("np.float64(0.5)", "0.5", False),
    ],
)
def test_what_an_example_prints_is_compared_in_meaning(want: str, got: str, is_same: bool) -> None:
    assert SameMeaning().check_output(f"{want}\n", f"{got}\n", doctest.ELLIPSIS) == is_same
