"""Mistakes in the derivative of a pointwise operation: left out, of another sign, taken at another point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Place
from grader.program.operation import Array, unbroadcast
from grader.program.program import Program
from grader.program.selectors import SecondValue, second_values

from .contract import Example, operator
from .places import edges

pointwise = edges.of_family("pointwise")


def slopes(program: Program, place: Place) -> Array:
    """Return the local derivative along an edge of a pointwise operation; shaped like its value."""
    node = program.reader(place)
    wide = {i: np.broadcast_to(v, node.value.shape) for i, v in enumerate(node.values)}  # so that nothing is summed
    return node.vjp(place[1], np.ones(node.value.shape), wide)


def has_derivative(program: Program, place: Place) -> bool:
    """Return whether the local derivative is more than a sign: what a learner can forget."""
    return bool((np.abs(slopes(program, place)) != 1).any())


def depends_on_operand(program: Program, place: Place) -> bool:
    """Return whether the local derivative is another one at another point."""
    node = program.reader(place)
    if np.size(node.values[place[1]]) == 0:
        return False
    ones = np.ones(node.value.shape)
    moved = node.vjp(place[1], ones, {place[1]: np.asarray(node.values[place[1]]) * 0.75 + 0.1})
    return not np.allclose(moved, node.vjp(place[1], ones), equal_nan=True)


@operator(
    "derivative-missing",
    code="missing-local",
    rank=1.5,
    at=pointwise.where(has_derivative),
    message="the derivative of {step} is missing",
)
def leave_out_derivative(program: Program, place: Place, choice: None) -> Program | None:
    """Hand the upstream gradient on as it is."""
    return program.with_vjp(place, lambda at: unbroadcast(at.g, at.x))


@leave_out_derivative.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ w)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"x": g @ w.T, "w": x.T @ g}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})


@operator(
    "sign-flipped",
    code="wrong-sign",
    rank=2.0,
    at=pointwise,
    message="what {step} contributes to the gradient of {operand} has the wrong sign",
)
def flip_sign(program: Program, place: Place, choice: None) -> Program | None:
    """Negate what comes along an edge."""
    return program.with_vjp(place, lambda at: -at.right())


@flip_sign.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return (x @ w - b).sigmoid()

    def wrong(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = (x @ w - b).sigmoid()
        return {"b": (g * y * (1 - y)).sum(0)}

    return Example(forward, wrong, {"x": "bs n", "w": "n m", "b": "m"})


def other_points(program: Program, place: Place) -> Iterator[SecondValue]:
    """Yield the values at which the derivative may be taken in place of the operand: its own value, and others."""
    operand = program.source(place)
    shape = program.nodes[operand].value.shape
    yield from (name for name, value in second_values(program, place[0], shape).items() if value != operand)


@operator(
    "derivative-at-another-point",
    code="wrong-point",
    rank=2.0,
    at=pointwise.where(depends_on_operand),
    choices=other_points,
    message="the derivative of {step} is taken at {choice}, and must be taken at {operand}",
)
def take_derivative_elsewhere(program: Program, place: Place, choice: SecondValue) -> Program | None:
    """Take the derivative at another value of the forward pass."""
    value = choice.find(program, place[0])
    if value is None:
        return None
    return program.with_vjp(place, lambda at: at.right(operands={at.slot: at.program.nodes[value].value}))


@take_derivative_elsewhere.example
def _() -> Example:
    def forward(x: Tensor, w: Tensor) -> Tensor:
        z = x @ w
        return torch.tanh(z)

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the derivative of tanh at its value, as if `y` were its input."""
        y = torch.tanh(x @ w)
        return {"w": x.T @ (g * (1 - torch.tanh(y) ** 2))}

    return Example(forward, wrong, {"x": "bs n", "w": "n m"})
