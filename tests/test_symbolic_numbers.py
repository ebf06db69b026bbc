"""Numbers that remember their expression."""

from __future__ import annotations

import pytest
import torch

from grader.program.recording import record
from grader.reference.symbolic_numbers import SymbolicNumber, spelling

P = SymbolicNumber(0.25, "p")


@pytest.mark.parametrize(
    ("made", "value", "text"),
    [
        (P, 0.25, "p"),
        (1 - P, 0.75, "(1 - p)"),
        (P - 1, -0.75, "(p - 1)"),
        (2 * P, 0.5, "(2 * p)"),
        (P * 2, 0.5, "(p * 2)"),
        (1 / P, 4.0, "(1 / p)"),
        (P / 2, 0.125, "(p / 2)"),
        (1 + P, 1.25, "(1 + p)"),
        (P + 0.5, 0.75, "(p + 0.5)"),
        (2 / (1 - P), 8 / 3, "(2 / (1 - p))"),
        (P**2, 0.0625, "0.0625"),
        (3, 3, "3"),
        (2**0.5, 2**0.5, "1.41421"),
    ],
)
def test_a_number_is_spelt_as_it_was_made(made: float, value: float, text: str) -> None:
    assert (made, spelling(made)) == (value, text)


def test_a_tensor_takes_it_as_any_number() -> None:
    x = torch.tensor([1.0, -2.0], dtype=torch.float64)
    for made, right in (
        (x / (1 - P), x / 0.75),
        ((1 - P) * x, 0.75 * x),
        (P - x, 0.25 - x),
        (x.clamp(-P * 1, P), x.clamp(-0.25, 0.25)),
    ):
        assert type(made) is torch.Tensor
        torch.testing.assert_close(made, right, rtol=0, atol=0)


def test_a_recorded_node_knows_the_arguments_name() -> None:
    program = record(lambda x, p: x / (1 - p), {"x": torch.ones(2, dtype=torch.float64), "p": P}, torch.ones(2))
    assert spelling(program.nodes[-1].values[1]) == "(1 - p)"
    assert program.nodes[-1].value.tolist() == [4 / 3, 4 / 3]
