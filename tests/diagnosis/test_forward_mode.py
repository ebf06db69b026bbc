"""Dual numbers as a spec declares them: each rule is used just where it says."""

from __future__ import annotations

import pytest
import torch

from grader.diagnosis.forward_mode import ForwardMode

X, V = torch.tensor([0.5, 0.8], dtype=torch.float64), torch.tensor([1.0, -2.0], dtype=torch.float64)


@pytest.mark.parametrize(
    ("forward_mode", "tangent"),
    [
        (ForwardMode(), 2 * V + 2 * X * V - 3 * V / X**2 + V[0] * 3 * X[0] ** 2),
        (ForwardMode({"mul": lambda a, da, b, db: da + db}), V + 2 * V - 3 * V / X**2 + V[0] * 3 * X[0] ** 2),
        (ForwardMode({"mul number": lambda a, da, b, db: da}), V + 2 * X * V - 3 * V / X**2 + V[0] * 3 * X[0] ** 2),
        (ForwardMode({"mul values": lambda a, da, b, db: da * b}), 2 * V + X * V - 3 * V / X**2 + V[0] * 3 * X[0] ** 2),
        (ForwardMode({"rdiv": lambda a, da, b, db: db}), 2 * V + 2 * X * V + V + V[0] * 3 * X[0] ** 2),
        (ForwardMode(exchanged=("rdiv",)), 2 * V + 2 * X * V + V / 3 + V[0] * 3 * X[0] ** 2),
        (ForwardMode({"pow": lambda a, da, n: n * da}), 2 * V + 2 * X * V - 3 * V / X**2 + 3 * V[0]),
        (ForwardMode({"getitem": lambda a, da, i: 0 * da[i]}), 2 * V + 2 * X * V - 3 * V / X**2),
        (ForwardMode(number=lambda a: 1.0), 2 * V + X + 2 * X * V + (X - 3 * V) / X**2 + V[0] * 3 * X[0] ** 2),
    ],
)  # fmt: skip
def test_a_tangent_is_made_by_the_rules_that_are_declared(forward_mode: ForwardMode, tangent: torch.Tensor) -> None:
    torch.testing.assert_close(forward_mode.push(lambda x: 2 * x + x * x + 3 / x + x[0] ** 3, X, V), tangent)


def test_a_right_tangent_is_that_of_torch_s_jacobian() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return 4e6 + x.exp() * x[0] - 2 / x + x.sum() * x

    right = torch.autograd.functional.jacobian(f, X) @ V
    torch.testing.assert_close(ForwardMode().push(f, X, V), right)
