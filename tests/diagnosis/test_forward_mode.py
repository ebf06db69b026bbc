"""Forward mode along a program, right and by other rules, and dual numbers as a spec declares them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from helpers.forwards import attention, attention_inputs, draw, linear, lstm, lstm_inputs, recurrence, recurrent_inputs
from torch.autograd.functional import jvp

from grader.diagnosis.forward_mode import ForwardMode, push, right_tangent
from grader.program.forward import Node
from grader.program.recording import record

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


def normalised(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return (centred / (centred**2).mean(-1, keepdim=True).sqrt()).cumsum(0)[1:].reshape(-1).logsumexp(0) * x.softmax(-1)


FORWARDS = {
    "linear": (linear, draw(0, inp=(5, 4), w=(4, 3), b=(3,))), "lstm": (lstm, lstm_inputs()),
    "attention": (attention, attention_inputs()), "recurrence": (recurrence, recurrent_inputs(3)),
    "normalised": (normalised, draw(0, x=(3, 4))),
}  # fmt: skip


@pytest.mark.parametrize("name", FORWARDS)
def test_tangents_are_those_of_torch(name: str) -> None:
    forward, inputs = FORWARDS[name]
    tensors = {key: torch.as_tensor(value) for key, value in inputs.items()}
    generator = np.random.default_rng(1)
    directions = {key: generator.standard_normal(value.shape) for key, value in tensors.items()}

    def by_position(*given: torch.Tensor) -> torch.Tensor:
        return forward(**dict(zip(tensors, given, strict=True)))

    _, right = jvp(by_position, tuple(tensors.values()), tuple(map(torch.from_numpy, directions.values())))
    np.testing.assert_allclose(push(record(forward, inputs), directions), right, rtol=1e-9, atol=1e-12)


def doubled(node: Node) -> Callable | None:
    return (lambda node, tangents: 2 * right_tangent(node, tangents)) if node.name == "sin" else None


def test_a_node_and_a_constant_may_have_rules_of_their_own() -> None:
    program = record(lambda x: x.sin() * 3, {"x": torch.tensor([0.5, 0.7], dtype=torch.float64)})
    x, v = np.array([0.5, 0.7]), {"x": np.array([1.0, 2.0])}
    right = np.cos(x) * v["x"] * 3
    np.testing.assert_allclose(push(program, v), right)
    np.testing.assert_allclose(push(program, v, doubled), 2 * right)
    np.testing.assert_allclose(push(program, v, constant=lambda node, slot: 1.0), right + np.sin(x))


def test_a_tangent_that_was_not_summed_goes_on_as_broadcasting_has_it() -> None:
    program = record(lambda x: x.sum() * x, {"x": torch.tensor([0.5, 0.7], dtype=torch.float64)})
    x, v = np.array([0.5, 0.7]), np.array([1.0, 2.0])
    long = push(program, {"x": v}, lambda node: (lambda node, given: given[0]) if node.name == "sum" else None)
    np.testing.assert_allclose(long, v * x + x.sum() * v)
