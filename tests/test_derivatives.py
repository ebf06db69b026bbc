"""The vector-Jacobian products that are written by hand are torch's own, however an operation is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import torch

from grader.reference.derivatives import vjp
from grader.reference.operation_recorder import record

Operation = Callable[..., torch.Tensor]
CALLS: dict[str, tuple[Operation, tuple[object, ...], dict[str, Any]]] = {
    "a matrix product": (torch.matmul, ((3, 4), (4, 5)), {}),
    "products of stacked matrices": (torch.matmul, ((2, 3, 4), (2, 4, 5)), {}),
    "one matrix for the whole stack": (torch.matmul, ((2, 3, 4), (4, 5)), {}),
    "one matrix in front of a stack": (torch.matmul, ((3, 4), (6, 2, 4, 5)), {}),
    "mm": (torch.mm, ((3, 4), (4, 5)), {}),
    "bmm": (torch.bmm, ((2, 3, 4), (2, 4, 5)), {}),
    "a sum": (torch.add, ((3, 4), (3, 4)), {}),
    "a bias": (torch.add, ((3, 4), (4,)), {}),
    "a column and a row": (torch.sub, ((3, 1), (1, 4)), {}),
    "a number less a matrix": (torch.sub, ((), (3, 4)), {}),
    "a product": (torch.mul, ((3, 4), (3, 4)), {}),
    "times a single entry": (torch.mul, ((1, 1), (2, 3, 4)), {}),
    "times a constant": (torch.mul, ((3, 4), 2.5), {}),
    "a quotient": (torch.div, ((3, 4), (3, 4)), {}),
    "divided by its rows' norms": (torch.div, ((3, 4), (3, 1)), {}),
    "divided by a constant": (torch.div, ((3, 4), 7), {}),
    "negated": (torch.neg, ((3, 4),), {}),
    "squared": (torch.pow, ((3, 4), 2), {}),
    "to the power of a half": (torch.pow, ((3, 4), 0.5), {}),
    "to the power of minus one": (torch.pow, ((3, 4), -1), {}),
    "to the power of one": (torch.pow, ((3, 4), 1), {}),
    "square": (torch.square, ((3, 4),), {}),
    "exp": (torch.exp, ((3, 4),), {}),
    "log": (torch.log, ((3, 4),), {}),
    "sqrt": (torch.sqrt, ((3, 4),), {}),
    "tanh": (torch.tanh, ((3, 4),), {}),
    "sigmoid": (torch.sigmoid, ((3, 4),), {}),
    "softmax": (torch.softmax, ((3, 4), 0), {}),
    "softmax of named dim": (torch.softmax, ((3, 4, 2),), {"dim": -2}),
    "everything summed": (torch.sum, ((3, 4),), {}),
    "summed over an axis": (torch.sum, ((3, 4), 0), {}),
    "summed over an axis that is kept": (torch.sum, ((3, 4, 2), -1, True), {}),
    "summed over two axes": (torch.sum, ((3, 4, 2),), {"dim": (-1, 0)}),
    "averaged": (torch.mean, ((3, 4),), {}),
    "averaged over axes that are kept": (torch.mean, ((3, 4, 2),), {"dim": [1, 2], "keepdim": True}),
    "averaged over an axis": (torch.mean, ((3, 4, 2), 1), {}),
    "reshaped": (torch.reshape, ((3, 4), (2, 6)), {}),
    "flattened": (torch.flatten, ((3, 4, 2), 1), {}),
    "an axis more": (torch.unsqueeze, ((3, 4), 1), {}),
    "an axis less": (torch.squeeze, ((3, 1, 4), 1), {}),
    "t": (torch.t, ((3, 4),), {}),
    "two axes exchanged": (torch.transpose, ((2, 3, 4), 0, -1), {}),
    "a number of any kind less a matrix": (torch.Tensor.__rsub__, ((3, 4), 1), {}),
    "a row less a matrix": (torch.Tensor.__rsub__, ((3, 4), (4,)), {}),
}  # fmt: skip
SHAPED = {"reshape", "flatten", "softmax", "sum"}  # a tuple after the first argument is no tensor there


def arguments(operation: Operation, given: tuple[object, ...]) -> list[Any]:
    """Positive tensors of the shapes that are given; the rest as it is."""
    draw = torch.Generator().manual_seed(3)

    def tensor(shape: tuple[int, ...]) -> torch.Tensor:
        return torch.rand(shape, generator=draw, dtype=torch.float64) + 0.5

    shaped = operation.__name__ in SHAPED
    return [tensor(one) if isinstance(one, tuple) and not (shaped and i) else one for i, one in enumerate(given)]


@pytest.mark.parametrize("call", CALLS)
def test_it_is_torchs_own(call: str) -> None:
    operation, given, options = CALLS[call]
    args = arguments(operation, given)
    leaves = [arg.requires_grad_() if isinstance(arg, torch.Tensor) else arg for arg in args]
    out = operation(*leaves, **options)
    g = torch.rand(out.shape, generator=torch.Generator().manual_seed(5), dtype=out.dtype) - 0.5
    tensors = [i for i, arg in enumerate(leaves) if isinstance(arg, torch.Tensor)]
    expected = torch.autograd.grad(out, [leaves[i] for i in tensors], g)
    plain = tuple(arg.detach() if isinstance(arg, torch.Tensor) else arg for arg in args)
    for i, right in zip(tensors, expected, strict=True):
        found = vjp(operation, operation.__name__, plain, options, (i,), g)
        assert found is not None, "no rule is written down for it"
        assert found.shape == right.shape
        torch.testing.assert_close(found, right, rtol=1e-12, atol=1e-13)


def tensors(*shapes: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    """Return tensors of these shapes whose entries are all different."""
    draw = torch.Generator().manual_seed(3)
    return tuple(torch.rand(shape, generator=draw, dtype=torch.float64) + 0.5 for shape in shapes)


MASK = torch.tensor([[True], [False], [True]])
RECORDED: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "chunks": (lambda x: torch.stack([a * (i + 1) for i, a in enumerate(x.chunk(3, -1))]), tensors((2, 6))),
    "chunks of which the last is smaller": (
        lambda x: torch.stack([(a * (i + 1)).sum() for i, a in enumerate(x.chunk(3))]), tensors((7, 2))
    ),
    "chunks of a named axis": (
        lambda x: torch.stack([a * (i + 1) for i, a in enumerate(x.chunk(2, dim=1))]), tensors((2, 4, 3))
    ),
    "stacked": (lambda x, w: torch.stack([x, w, x * 2], 1), tensors((2, 3), (2, 3))),
    "stacked along the last axis": (lambda x, w: torch.stack((x, w), dim=-1), tensors((2, 3), (2, 3))),
    "joined": (lambda x, w: torch.cat([w, x, w * 2]), tensors((2, 3), (1, 3))),
    "joined along the last axis": (lambda x, w: torch.cat([w, x, w], dim=-1), tensors((2, 3), (2, 1))),
    "the transpose of matrices": (lambda x, w: x.mT @ w, tensors((2, 3, 4), (2, 3, 5))),
    "all axes reversed": (lambda x, w: x.T @ w.T, tensors((3, 4), (5, 3))),
    "t of a matrix": (lambda x, w: x.t() @ w, tensors((3, 4), (3, 2))),
    "one less": (lambda x, w: (1 - x) * w, tensors((3, 4), (3, 4))),
    "filled where it is masked": (lambda x: x.masked_fill(MASK, -5.0) * 2, tensors((3, 4))),
    "filled with a mask of more rows": (lambda x: x.masked_fill(MASK, -5.0) * 2, tensors((4,))),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_sweep_is_torchs_own(name: str) -> None:
    """Each operation as a forward pass calls it, with several results or several operands in a list."""
    forward, given = RECORDED[name]
    inputs = dict(zip(("x", "w"), given, strict=False))
    g = torch.rand(forward(*given).shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64) - 0.5
    leaves = [one.clone().requires_grad_() for one in given]
    expected = torch.autograd.grad(forward(*leaves), leaves, g)
    trace = record(forward, inputs, g)
    for wrt, right in zip(inputs, expected, strict=True):
        with patch.object(torch.autograd, "grad", side_effect=AssertionError("no rule is written down for it")):
            found = trace.backward(wrt)
        torch.testing.assert_close(found, right, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("operation", "given", "options"),
    [
        (torch.add, ((3, 4), (3, 4)), {"alpha": 2.0}),
        (torch.div, ((3, 4), (3, 4)), {"rounding_mode": "floor"}),
        (torch.matmul, ((3, 4), (4,)), {}),
        (torch.sum, ((3, 4),), {"dtype": torch.float64}),
        (torch.softmax, ((3, 4), 0), {"dtype": torch.float64}),
        (torch.cumsum, ((3, 4), 0), {}),
    ],
)
def test_for_what_is_called_otherwise_nothing_is_written(
    operation: Operation, given: tuple[object, ...], options: dict[str, Any]
) -> None:
    args = arguments(operation, given)
    assert vjp(operation, operation.__name__, tuple(args), options, (0,), operation(*args, **options)) is None


def test_a_gradient_of_another_precision_is_left_to_torch() -> None:
    x = torch.ones(3, dtype=torch.float64)
    assert vjp(torch.exp, "exp", (x,), {}, (0,), torch.ones(3)) is None
