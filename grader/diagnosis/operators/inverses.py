"""Mistakes in the inverse and the determinant of a matrix.

The vjp of an inverse y is -y.T @ g @ y.T, and that of a determinant d of x is g d times the transposed inverse of x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Place
from grader.program.operation import Array
from grader.program.program import Program

from .contract import Example, operator
from .places import edges


class MatrixFormula(NamedTuple):
    """A wrong formula for the vjp of an inverse or a determinant.

    Args:
        code: the public code.
        message: what is wrong with it, in words.
        of: takes the upstream gradient, the operand, shape (..., n, n), and the value, of shape (..., n, n) or, for a
            determinant, (...,); returns the contribution, shaped like the operand.
    """

    code: str
    message: str
    of: Callable[[Array, Array, Array], Array]


def _transpose(x: Array) -> Array:
    """Return an array with its last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def _as_matrices(g: Array) -> Array:
    """Return an array of shape (...,) with two axes of size 1 at the end, to be multiplied by (..., n, n)."""
    return np.asarray(g)[..., None, None]


INVERSE_FORMULAS: Mapping[str, MatrixFormula] = {
    "no transpose": MatrixFormula(
        "transposed", "both copies of the inverse must be transposed", lambda g, x, y: -y @ g @ y),
    "no transpose on the left": MatrixFormula(
        "transposed", "the inverse on the left must be transposed", lambda g, x, y: -y @ g @ _transpose(y)),
    "no transpose on the right": MatrixFormula(
        "transposed", "the inverse on the right must be transposed", lambda g, x, y: -_transpose(y) @ g @ y),
    "left alone": MatrixFormula(
        "missing-local", "the inverse is missing on the right", lambda g, x, y: -_transpose(y) @ g),
    "right alone": MatrixFormula(
        "missing-local", "the inverse is missing on the left", lambda g, x, y: -g @ _transpose(y)),
    "twice on the left": MatrixFormula(
        "wrong-operand", "both inverses are on the left", lambda g, x, y: -_transpose(y) @ _transpose(y) @ g),
    "twice on the right": MatrixFormula(
        "wrong-operand", "both inverses are on the right", lambda g, x, y: -g @ _transpose(y) @ _transpose(y)),
    "upstream transposed": MatrixFormula(
        "transposed", "the upstream gradient must not be transposed",
        lambda g, x, y: -_transpose(y) @ _transpose(g) @ _transpose(y)),
    "squares of the inverse": MatrixFormula(
        "elementwise-for-matmul", "the entries of the inverse are squared, as for one over a number",
        lambda g, x, y: -g * y**2),
    "squares of the matrix": MatrixFormula(
        "elementwise-for-matmul", "each entry is treated as one over a number", lambda g, x, y: -g / x**2),
}  # fmt: skip
DETERMINANT_FORMULAS: Mapping[str, MatrixFormula] = {
    "not transposed": MatrixFormula(
        "transposed", "the inverse must be transposed", lambda g, x, y: _as_matrices(g * y) * np.linalg.inv(x)),
    "transpose": MatrixFormula(
        "inverse-for-transpose", "the transpose is used in place of the transposed inverse",
        lambda g, x, y: _as_matrices(g * y) * _transpose(x)),
    "entry by entry": MatrixFormula(
        "elementwise-for-matmul", "one over each entry is used in place of the inverse",
        lambda g, x, y: _as_matrices(g * y) / x),
    "diagonal": MatrixFormula(
        "wrong-local", "only the product of the diagonal is differentiated",
        lambda g, x, y: _as_matrices(g * y) * np.eye(x.shape[-1]) / x),
    "determinant missing": MatrixFormula(
        "missing-local", "the determinant itself is missing as a factor",
        lambda g, x, y: _as_matrices(g) * _transpose(np.linalg.inv(x))),
}  # fmt: skip


@operator(
    "inverse-mistaken",
    code=lambda choice: INVERSE_FORMULAS[choice].code,
    rank=2.0,
    at=edges.of("inverse", "linalg_inv"),
    choices=lambda program, place: INVERSE_FORMULAS,
    message="in the gradient of the inverse {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": INVERSE_FORMULAS[choice].message},
)
def use_wrong_inverse_vjp(program: Program, place: Place, choice: str) -> Program | None:
    """Use a wrong formula for the vjp of an inverse y, such as -y @ g @ y in place of -y.T @ g @ y.T.

    Args:
        program: the right program.
        place: an edge (matrix inverse, its operand).
        choice: which formula, a key of `INVERSE_FORMULAS`: "no transpose" in the example; others are "left alone",
            "twice on the right" and "upstream transposed".

    Returns:
        The rewritten program; never `None`.
    """
    return program.with_vjp(place, lambda at: INVERSE_FORMULAS[choice].of(at.g, np.asarray(at.x), at.y))


@use_wrong_inverse_vjp.example
def _() -> Example:
    """Show x @ inv(w) whose gradient of w leaves out both transposes of the inverse."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        inverse: Tensor = torch.linalg.inv(w)
        return x @ inverse

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        y = torch.linalg.inv(w)
        return {"w": -y @ (x.T @ g) @ y}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@operator(
    "determinant-mistaken",
    code=lambda choice: DETERMINANT_FORMULAS[choice].code,
    rank=2.0,
    at=edges.of("det", "linalg_det"),
    choices=lambda program, place: DETERMINANT_FORMULAS,
    message="in the gradient of the determinant {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": DETERMINANT_FORMULAS[choice].message},
)
def use_wrong_determinant_vjp(program: Program, place: Place, choice: str) -> Program | None:
    """Use a wrong formula for the vjp of a determinant, such as g * det(x) * inv(x) without the transpose.

    Args:
        program: the right program.
        place: an edge (determinant, its operand).
        choice: which formula, a key of `DETERMINANT_FORMULAS`: "not transposed" in the example; further ones are
            "diagonal" and "determinant missing".

    Returns:
        The rewritten program; never `None`.
    """
    return program.with_vjp(place, lambda at: DETERMINANT_FORMULAS[choice].of(at.g, np.asarray(at.x), at.y))


@use_wrong_determinant_vjp.example
def _() -> Example:
    """Show det(w * u) * x whose gradient of w uses the inverse of w * u in place of its transpose."""

    def forward(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        determinant: Tensor = torch.linalg.det(w * u)
        return determinant * x

    def wrong(x: Tensor, w: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        v = w * u
        return {"w": u * (g * x).sum() * torch.linalg.det(v) * torch.linalg.inv(v)}

    return Example(forward, wrong, {"x": "bs m", "w": "n n", "u": "n"})
