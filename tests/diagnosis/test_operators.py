"""Every operator is found by its examples, under its code, and says so in words that a learner can read.

One in fifteen of the examples; `thorough/test_every_operator_example.py` has all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers.operator_examples import EXAMPLES, assert_explained
from torch import Tensor

from grader.authoring.mistakes_page import case_of_example
from grader.diagnosis.candidates import edits
from grader.diagnosis.operators import FAMILIES, OPERATORS, pointwise
from grader.diagnosis.operators.contract import REGISTRY, Example, Operator
from grader.diagnosis.search import explain
from grader.program.recording import record
from grader.results.codes import VALUE_CODES


def test_the_operators_stand_in_the_order_of_their_families_whoever_imports_whom() -> None:
    families = [family.__name__ for family in FAMILIES]
    numbers = [families.index(operator.rewrite.__module__) for operator in OPERATORS]
    assert numbers == sorted(numbers)
    assert sorted(operator.name for operator in OPERATORS) == sorted(REGISTRY)


@pytest.mark.parametrize(("operator", "example"), EXAMPLES[::15])
def test_an_example_is_explained_by_its_operator(operator: Operator[Hashable], example: Example) -> None:
    assert_explained(operator, example)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)
def test_an_operator_has_an_example(operator: Operator[Hashable]) -> None:
    assert operator.examples


def decayed(x: Tensor, h: Tensor) -> Tensor:
    for step in x:
        h = 0.9 * h + step
    return h


@pytest.mark.parametrize(
    ("name", "forward", "shapes"),
    [
        ("exponent-typed-in", lambda x: x.pow(1 / 3), {"x": (2, 3)}),
        ("exponent-typed-in", F.mse_loss, {"input": (2, 3), "target": (2, 3)}),
        ("product-passed-to-one-factor", decayed, {"x": (3, 4), "h": (4,)}),
        ("inverse-in-product", lambda x: torch.ones(4, 3, dtype=x.dtype) @ x, {"x": (3, 2)}),
        ("windows-not-added", lambda x, k: F.conv1d(x, k, stride=3, dilation=2), {"x": (2, 3, 11), "k": (2, 3, 3)}),
    ],
)
def test_an_operator_has_no_edit_where_its_mistake_cannot_be_made(
    name: str, forward: Callable[..., Tensor], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """No exponent, factor or matrix, but a constant; no windows that have an entry in common."""
    program = record(forward, {each: np.ones(shape) for each, shape in shapes.items()})
    assert not list(edits(REGISTRY[name], program))


@pytest.mark.parametrize("code", ["stale-gradient", *sorted(VALUE_CODES)[::12]])
def test_an_operator_may_have_any_code_of_a_wrong_value(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No list has to know a code before an operator is found under it."""
    operator = pointwise.leave_out_derivative
    monkeypatch.setitem(vars(operator), "code", code)
    case = case_of_example(operator.examples[0])
    explanations = explain(case, OPERATORS)
    assert {name: each.code for name, each in explanations.items()} == dict.fromkeys(case.names, code)
