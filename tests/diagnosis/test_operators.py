"""Every operator is found by its examples, under its code, and says so in words that a learner can read.

One in fifteen of the examples; `thorough/test_every_operator_example.py` has all.
"""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from helpers.operator_examples import EXAMPLES, assert_explained

from grader.authoring.mistakes_page import case_of_example
from grader.diagnosis.operators import FAMILIES, OPERATORS, pointwise
from grader.diagnosis.operators.contract import REGISTRY, Example, Operator
from grader.diagnosis.search import explain
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


@pytest.mark.parametrize("code", ["stale-gradient", *sorted(VALUE_CODES)[::12]])
def test_an_operator_may_have_any_code_of_a_wrong_value(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No list has to know a code before an operator is found under it."""
    operator = pointwise.leave_out_derivative
    monkeypatch.setitem(vars(operator), "code", code)
    case = case_of_example(operator.examples[0])
    explanations = explain(case, OPERATORS)
    assert {name: each.code for name, each in explanations.items()} == dict.fromkeys(case.names, code)
