"""Every operator is found by its examples, under its code, and says so in words that a learner can read."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pytest

from grader.diagnosis.edits import Edit, edits_of
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.operators.contract import Example, Operator
from grader.program.operation import Array, NoCandidate
from grader.program.program import Program
from grader.results import VALUE_CODES

Trials = Sequence[tuple[Program, Mapping[str, Array]]]
EXAMPLES = [
    pytest.param(operator, example, id=f"{operator.name}-{number}")
    for operator in OPERATORS
    for number, example in enumerate(operator.examples, 1)
]


def first_explanation(trials: Trials) -> Edit:
    """The likeliest edit that gives the wrong gradients in every trial."""
    first = trials[0][0]
    for edit in edits_of(OPERATORS, first):
        try:
            if all(gives(edit.apply(program).gradients(), wrong) for program, wrong in trials):
                return edit
        except NoCandidate:
            pass
    raise AssertionError("no edit gives these gradients")


def gives(gradients: Mapping[str, Array], wrong: Mapping[str, Array]) -> bool:
    return all(
        gradients[name].shape == array.shape
        and np.abs(gradients[name] - array).max() <= 1e-6 * np.abs(array).max(initial=1e-9)
        for name, array in wrong.items()
    )


@pytest.mark.parametrize(("operator", "example"), EXAMPLES)
def test_an_example_is_explained_by_its_operator(operator: Operator[Hashable], example: Example) -> None:
    trials = list(example.trials())
    for program, wrong in trials:
        right = program.gradients()
        assert set(wrong) <= set(right)
        assert not gives(right, wrong), "the example is right"
    edit = first_explanation(trials)
    message = edit.message(trials[0][0])
    assert edit.operator is operator, f"{edit.operator.name} explains it, too: {message}"
    assert edit.code in VALUE_CODES
    assert not re.search(r"\{|\}|%\d|  |\bfourth\b|\bNone\b", message)
    print(f"{edit.code}: {message}")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)
def test_an_operator_has_an_example(operator: Operator[Hashable]) -> None:
    assert operator.examples
