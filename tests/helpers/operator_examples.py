"""The examples of all operators, and what must hold of each: it is found by its operator, in readable words."""

from __future__ import annotations

import re
from collections.abc import Hashable

import pytest

from grader.authoring.mistakes_page import case_of_example
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.operators.contract import Example, Operator
from grader.diagnosis.search import explain
from grader.results.codes import VALUE_CODES

EXAMPLES = [
    pytest.param(operator, example, id=f"{operator.name}-{number}")
    for operator in OPERATORS
    for number, example in enumerate(operator.examples, 1)
]


def assert_explained(operator: Operator[Hashable], example: Example) -> None:
    """Check that an example is explained by its operator alone, under a known code, in words without gaps."""
    case = case_of_example(example)
    assert case.names, "the example is right"
    explanations = explain(case, OPERATORS)
    assert set(explanations) == set(case.names), "no edit gives these gradients"
    for name, explanation in explanations.items():
        (fact,) = explanation.facts
        message = fact.says
        assert fact.operator == operator.name, f"{name} is explained otherwise: {message}"
        assert explanation.code in VALUE_CODES
        assert not re.search(r"\{|\}|%\d|  |\bfourth\b|\bNone\b", message)
        print(f"{name}: {explanation.code}: {message}")
