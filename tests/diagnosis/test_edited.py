"""Misconceptions that are declared as edits of the forward pass's program."""

from __future__ import annotations

import inspect

import numpy as np
import torch

from grader.diagnosis.edited import edited
from grader.program.program import Program


def layer(x: torch.Tensor, w: torch.Tensor, often: int) -> torch.Tensor:
    return (x @ w).tanh() * often


def without_derivative(program: Program, often: int) -> Program:
    """Leave out the derivative of tanh, and add the factor once more."""
    (tanh,) = program.nodes_of("tanh")
    return program.with_vjp((tanh, 0), lambda at: often * at.g)


def test_an_edit_is_a_misconception_about_each_target() -> None:
    first, second = edited(layer, "x w", "missing-local", without_derivative, "tanh is missing", "a hint")
    assert (first.answer, second.answer) == ("x.g", "w.g")
    assert (first.code, first.says, first.hints) == ("missing-local", "tanh is missing", ("a hint",))
    assert list(inspect.signature(first.rule).parameters) == ["x", "w", "often", "out_g"]
    x, w, g = torch.randn(2, 3).double(), torch.randn(3, 4).double(), torch.randn(2, 4).double()
    right = 9 * g
    np.testing.assert_allclose(first.rule(x=x, w=w, often=3, out_g=g), right @ w.t())
    np.testing.assert_allclose(second.rule(x=x, w=w, often=3, out_g=g), x.t() @ right)
