"""What passes in a learner's check passes in the grade, and what fails in the grade fails in the check, in its words.

Here with the strongest isolation; `test_every_check_and_grade.py` has the others, and the corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from helpers.grading import codes
from helpers.honest_variants import FAILS, PASSES, above

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.results.records import ExerciseResult
from grader.sandbox.worker import Worker

Both = Callable[[str], tuple[ExerciseResult, ExerciseResult]]


@pytest.fixture
def both(course: Course, grader: Grader, worker: Worker, isolated: Worker) -> Both:
    """`both(source)`: the verdict of a check, and that of a graded run."""
    exercise = course.find("lin_grad")

    def asked(source: str) -> tuple[ExerciseResult, ExerciseResult]:
        content = source.encode()
        return grader.grade(exercise, content, worker), grader.grade(exercise, content, isolated)

    return asked


@pytest.mark.parametrize("name", PASSES)
def test_an_honest_file_passes_in_both(name: str, both: Both) -> None:
    check, graded = both(PASSES[name])
    assert set(codes(check).values()) == {None}
    assert (codes(graded), graded.notes) == (codes(check), check.notes)


@pytest.mark.parametrize("name", FAILS)
def test_what_neither_has_is_told_by_both(name: str, both: Both) -> None:
    source, code, says = FAILS[name]
    for result in both(source):
        (told,) = {(answer.code, answer.message) for answer in result.answers}
        assert told[0] == code
        assert re.search(says, told[1]), told[1]


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("import seaborn as sns", "seaborn is ignored in checks and graded runs (lin_grad.py, line 1: import"),
        ("import torchvision", "torchvision is not available in graded runs (lin_grad.py, line 1: import torchvision)"),
        (
            "import sympy",
            "sympy is not available in graded runs (lin_grad.py, line 1: import sympy)",
        ),  # there is one in a check
        (
            "def f():\n    from jax import grad",
            "jax is not available in graded runs (lin_grad.py, line 2: from jax import grad)",
        ),
    ],
)
def test_a_check_announces_what_graded_runs_do_not_have(line: str, note: str, both: Both) -> None:
    check, graded = both(above(line))
    assert [text[: len(note)] for text in check.notes] == [note]
    assert graded.notes == check.notes


def test_nothing_is_said_of_what_is_there(both: Both) -> None:
    lines = "import torch, numpy as np\nimport torch.nn.functional as F\nfrom math import pi\ntext = 'import seaborn'"
    assert both(above(lines))[0].notes == ()
