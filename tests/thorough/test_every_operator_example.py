"""Every example of every operator is explained by its operator."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from helpers.operator_examples import EXAMPLES, assert_explained

from grader.diagnosis.operators.contract import Example, Operator


@pytest.mark.parametrize(("operator", "example"), EXAMPLES)
def test_an_example_is_explained_by_its_operator(operator: Operator[Hashable], example: Example) -> None:
    assert_explained(operator, example)
