"""A sentence names a step or a function where it would quote a long expression, and time steps in a loop over time."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grader.diagnosis.operators.places import names_of_two_axes, with_short_names
from grader.program.program import Program
from grader.program.recording import record


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT
    weights = (scores * q.abs().sum(-1)).softmax(-1)
    return weights @ v


def states(x: Tensor, h: Tensor, w: Tensor) -> Tensor:
    for i in range(x.shape[1]):
        h = torch.tanh(x[:, i] + h @ w)
    return h


def softplus(x: Tensor) -> Tensor:
    return (1 + x.exp()).log()


def program_of(forward: Callable[..., Tensor], sizes: Mapping[str, int], **shapes: tuple[int, ...]) -> Program:
    """Return the program of a forward pass at inputs of the given shapes, whose upstream gradient is called `out.g`."""
    inputs = {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()}
    program = record(forward, inputs, torch.ones_like(forward(**inputs)), output_name="out", upstream_name="out.g")
    return replace(program, sizes=sizes)


ATTENTION = program_of(attention, {}, q=(4, 3), k=(4, 3), v=(4, 4))
STATES = program_of(states, {"bs": 2, "t": 3, "m": 4}, x=(2, 3, 4), h=(2, 4), w=(4, 4))


ONES = torch.ones(4, 3, dtype=torch.float64)
SOFTPLUS = program_of(softplus, {}, x=(4, 3))


@pytest.mark.parametrize(
    ("clause", "shorter"),
    [
        ("the derivative of `(1 + x.exp()).log()` is missing", "the derivative of the logarithm is missing"),
        ("the derivative of `x.exp()` is missing", "the derivative of `x.exp()` is missing"),
    ],
)
def test_a_function_of_what_it_computes_is_named_alone(clause: str, shorter: str) -> None:
    assert with_short_names(SOFTPLUS, clause) == shorter


@pytest.mark.parametrize(
    ("clause", "shorter"),
    [
        ("the derivative of `(scores * q.abs().sum(-1)).softmax(-1)` is missing",
         "the derivative of the softmax is missing"),
        ("the gradient of `(scores * q.abs().sum(-1)).softmax(-1)` is wrong", "the gradient of `weights` is wrong"),
        ("in the gradient of k.mT through `q @ k.mT`", "in the gradient of k through `q @ k.mT`"),
        ("the gradient of out is used in place of that of scores",
         "out.g is used in place of the gradient of `scores`"),
        ("the gradient of scores is used in place of that of out",
         "the gradient of `scores` is used in place of out.g"),
        ("a sum is used in place of `(scores * q.abs().sum(-1)).softmax(-1)`",
         "a sum is used in place of `(scores * q.abs().sum(-1)).softmax(-1)`"),
        ("in the gradient of `k.mT@q` through `q @ k.mT`", "in the gradient of `k.mT@q` through `q @ k.mT`"),
        ("`scores` is short", "`scores` is short"),
    ],
)  # fmt: skip
def test_a_long_expression_is_named(clause: str, shorter: str) -> None:
    assert with_short_names(ATTENTION, clause) == shorter


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("in the last iteration of the forward pass, it is missing", "at the last time step, it is missing"),
        ("no gradient of h is passed back from an iteration of the forward pass to the one before it",
         "no gradient of h is passed back from a time step to the one before it"),
        ("h of the previous iteration is used in all iterations of the backward pass",
         "h of the previous time step is used at all time steps"),
        ("out.g is added in every iteration; it must be added only in the last one",
         "out.g is added at every time step; it must be added only at the last one"),
    ],
)  # fmt: skip
def test_the_iterations_of_a_loop_over_time_are_time_steps(clause: str, words: str) -> None:
    assert with_short_names(STATES, clause) == words
    assert with_short_names(replace(STATES, sizes={}), clause) == clause


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("in the gradient of v through `weights @ v`, it is missing", "in v.g, it is missing"),
        ("in the gradient of q through `q @ k.mT`, it is missing",  # also read by `q.abs()`
         "in the gradient of q through `q @ k.mT`, it is missing"),
        ("in the gradient of q through `weights @ v`, it is missing", "in q.g, it is missing"),
        ("in the gradient of weights through `weights @ v`, it is missing",
         "in the gradient of `weights`, it is missing"),
        ("the contribution of `q @ k.mT` to the gradient of q is missing",
         "the contribution of `q @ k.mT` to q.g is missing"),
        ("in the gradient of q through `q @ q.abs()`, it is missing",
         "in the gradient of q through `q @ q.abs()`, it is missing"),
        ("the gradient of weights through `weights @ v` has the wrong sign",
         "the gradient of `weights` through `weights @ v` has the wrong sign"),
        ("the gradient of v is right, and so is that of k", "v.g is right, and so is k.g"),
        ("the gradient of q and k is missing", "the gradient of q and k is missing"),
    ],
)  # fmt: skip
def test_a_stored_gradient_has_its_name(clause: str, words: str) -> None:
    names = {"q": "q.g", "k": "k.g", "v": "v.g"}
    assert with_short_names(replace(ATTENTION, gradient_names=names), clause) == words


@pytest.mark.parametrize(
    ("forward", "step", "is_named"),
    [
        (lambda x, w: x @ w, "x @ w", False),
        (lambda x, w: torch.relu(x) @ w, "torch.relu(x)", True),  # what is said may be of its mask
        (lambda x, w: torch.relu(x), "torch.relu(x)", False),  # it is all of the forward pass
        (lambda x, w: (ONES * x) @ w, "ONES * x", True),  # what is said may be of the constant, which has no name
    ],
)
def test_an_operation_is_named_unless_the_rest_is_clear(
    forward: Callable[..., Tensor], step: str, is_named: bool
) -> None:
    program = program_of(forward, {}, x=(4, 3), w=(3, 3))
    clause = f"in the gradient of x through `{step}`, it is missing"
    assert with_short_names(program, clause) == (clause if is_named else "in the gradient of x, it is missing")


def test_two_axes_of_one_name_are_numbered() -> None:
    square = program_of(lambda q, k: q @ k.mT, {"t": 4, "d": 3}, q=(4, 3), k=(4, 3))
    assert names_of_two_axes(square, square.forward.outputs[0], 0, 1) == ("axis 0", "axis 1")
    assert names_of_two_axes(square, square.inputs["q"], 0, 1) == ("t", "d")
