"""Every operator is found by its examples, under its code, and says so in words that a learner can read.

One in fifteen of the examples; `thorough/test_every_operator_example.py` has all.
"""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from helpers.operator_examples import EXAMPLES, assert_explained

from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.operators.contract import Example, Operator


@pytest.mark.parametrize(("operator", "example"), EXAMPLES[::15])
def test_an_example_is_explained_by_its_operator(operator: Operator[Hashable], example: Example) -> None:
    assert_explained(operator, example)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)
def test_an_operator_has_an_example(operator: Operator[Hashable]) -> None:
    assert operator.examples
