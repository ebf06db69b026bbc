"""Mistakes in the inverse and the determinant of a matrix, and in the solution of linear equations.

The vjp of an inverse y is -y.T @ g @ y.T, and that of a determinant d of x is g d times the transposed inverse of x.
For the solution y of a @ y = b, b gets c with a.T @ c = g, and a gets -c @ y.T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from grader.program.forward import Node, Place
from grader.program.operation import Array, unbroadcast
from grader.program.program import EdgeContext, Program
from grader.program.selectors import ValueName, values_by_name

from .contract import Example, operator
from .places import edges, nodes


class MatrixFormula(NamedTuple):
    """A wrong formula for the vjp of an inverse, a determinant, its logarithm, or a Cholesky factor.

    Args:
        code: the public code.
        message: what is wrong with it, in words.
        of: takes the upstream gradient, the operand, shape (..., n, n), and the value, of shape (..., n, n) or, for a
            determinant and its logarithm, (...,); returns the contribution, shaped like the operand.
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


INVERSE_MOVES = (
    "If a moves by da, its inverse y moves by -y @ da @ y. Which entries of y multiply da[i,j] on either side?"
)
TWO_BY_TWO = "Check one entry by hand, with a matrix of two rows and two columns that is not symmetric."
INVERSE_FORMULAS: Mapping[str, MatrixFormula] = {
    "no transpose": MatrixFormula(
        "transposed", "both copies of the inverse must be transposed", lambda g, x, y: -y @ g @ y),
    "no transpose on the left": MatrixFormula(
        "transposed", "the inverse to the left of the upstream gradient must be transposed",
        lambda g, x, y: -y @ g @ _transpose(y)),
    "no transpose on the right": MatrixFormula(
        "transposed", "the inverse to the right of the upstream gradient must be transposed",
        lambda g, x, y: -_transpose(y) @ g @ y),
    "left alone": MatrixFormula(
        "missing-local", "the inverse to the right of the upstream gradient is missing",
        lambda g, x, y: -_transpose(y) @ g),
    "right alone": MatrixFormula(
        "missing-local", "the inverse to the left of the upstream gradient is missing",
        lambda g, x, y: -g @ _transpose(y)),
    "twice on the left": MatrixFormula(
        "wrong-operand", "both inverses are to the left of the upstream gradient; one must be to the right",
        lambda g, x, y: -_transpose(y) @ _transpose(y) @ g),
    "twice on the right": MatrixFormula(
        "wrong-operand", "both inverses are to the right of the upstream gradient; one must be to the left",
        lambda g, x, y: -g @ _transpose(y) @ _transpose(y)),
    "upstream transposed": MatrixFormula(
        "transposed", "the upstream gradient must not be transposed",
        lambda g, x, y: -_transpose(y) @ _transpose(g) @ _transpose(y)),
    "squares of the inverse": MatrixFormula(
        "elementwise-for-matmul", "the entries of the inverse are squared, as in the derivative of 1 / x",
        lambda g, x, y: -g * y**2),
    "squares of the matrix": MatrixFormula(
        "elementwise-for-matmul", "the derivative of 1 / x is used for each entry of the matrix",
        lambda g, x, y: -g / x**2),
}  # fmt: skip
DETERMINANT_FORMULAS: Mapping[str, MatrixFormula] = {
    "not transposed": MatrixFormula(
        "transposed", "the inverse must be transposed", lambda g, x, y: _as_matrices(g * y) * np.linalg.inv(x)),
    "transpose": MatrixFormula(
        "inverse-for-transpose", "the transposed matrix is used in place of the transposed inverse",
        lambda g, x, y: _as_matrices(g * y) * _transpose(x)),
    "entry by entry": MatrixFormula(
        "elementwise-for-matmul", "the reciprocal of each entry is used in place of the inverse matrix",
        lambda g, x, y: _as_matrices(g * y) / x),
    "diagonal": MatrixFormula(
        "wrong-local", "only the product of the diagonal entries is differentiated",
        lambda g, x, y: _as_matrices(g * y) * np.eye(x.shape[-1]) / x),
    "determinant missing": MatrixFormula(
        "missing-local", "the factor that is the determinant itself is missing",
        lambda g, x, y: _as_matrices(g) * _transpose(np.linalg.inv(x))),
}  # fmt: skip
LOG_DETERMINANT_FORMULAS: Mapping[str, MatrixFormula] = {
    "not transposed": MatrixFormula(
        "transposed", "the inverse must be transposed", lambda g, x, y: _as_matrices(g) * np.linalg.inv(x)),
    "transpose": MatrixFormula(
        "inverse-for-transpose", "the transposed matrix is used in place of the transposed inverse",
        lambda g, x, y: _as_matrices(g) * _transpose(x)),
    "as for a determinant": MatrixFormula(
        "extra-factor", "there is an extra factor, the determinant, as in the derivative of the determinant itself",
        lambda g, x, y: _as_matrices(g * np.linalg.det(x)) * _transpose(np.linalg.inv(x))),
    "not divided by the determinant": MatrixFormula(
        "missing-local", "the derivative of the logarithm is missing: the division by the absolute value of the"
        " determinant",
        lambda g, x, y: _as_matrices(g * np.abs(np.linalg.det(x))) * _transpose(np.linalg.inv(x))),
    "entry by entry": MatrixFormula(
        "elementwise-for-matmul", "the reciprocal of each entry is used in place of the inverse matrix",
        lambda g, x, y: _as_matrices(g) / x),
    "diagonal": MatrixFormula(
        "wrong-local", "only the logarithms of the diagonal entries are differentiated",
        lambda g, x, y: _as_matrices(g) * np.eye(x.shape[-1]) / x),
}  # fmt: skip


@operator(
    "inverse-mistaken",
    code=lambda choice: INVERSE_FORMULAS[choice].code,
    rank=2.0,
    at=edges.of("inverse", "linalg_inv"),
    choices=lambda program, place: INVERSE_FORMULAS,
    message="in the gradient of {operand} through the inverse {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": INVERSE_FORMULAS[choice].message},
    hints={
        "transposed": (
            "The answer is a product of three matrices. Which of them does your code transpose, and which must it?",
            INVERSE_MOVES,
            TWO_BY_TWO,
        ),
        **dict.fromkeys(
            sorted({formula.code for formula in INVERSE_FORMULAS.values()} - {"transposed"}),
            (
                "For a number a, what is the derivative of 1 / a? Which sign does it have, and how many factors 1 / a?",
                INVERSE_MOVES,
                TWO_BY_TWO,
            ),
        ),
    },
)
def use_wrong_inverse_vjp(program: Program, place: Place, choice: str) -> Program:
    """Use a wrong formula for the vjp of an inverse y, such as -y @ g @ y in place of -y.T @ g @ y.T.

    Args:
        program: the right program.
        place: an edge (matrix inverse, its operand).
        choice: which formula, a key of `INVERSE_FORMULAS`: "no transpose" in the example; others are "left alone",
            "twice on the right" and "upstream transposed".

    Returns:
        The rewritten program.
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
    message="in the gradient of {operand} through the determinant {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": DETERMINANT_FORMULAS[choice].message},
)
def use_wrong_determinant_vjp(program: Program, place: Place, choice: str) -> Program:
    """Use a wrong formula for the vjp of a determinant, such as g * det(x) * inv(x) without the transpose.

    Args:
        program: the right program.
        place: an edge (determinant, its operand).
        choice: which formula, a key of `DETERMINANT_FORMULAS`: "not transposed" in the example; further ones are
            "diagonal" and "determinant missing".

    Returns:
        The rewritten program.
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


@operator(
    "log-determinant-mistaken",
    code=lambda choice: LOG_DETERMINANT_FORMULAS[choice].code,
    rank=2.0,
    at=edges.of("logdet", "slogdet", "linalg_slogdet"),
    choices=lambda program, place: LOG_DETERMINANT_FORMULAS,
    message="in the gradient of {operand} through the log-determinant {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": LOG_DETERMINANT_FORMULAS[choice].message},
)
def use_wrong_log_determinant_vjp(program: Program, place: Place, choice: str) -> Program | None:
    """Use a wrong formula for the vjp of log |det(x)|, such as g * inv(x) without the transpose.

    Args:
        program: the right program.
        place: an edge (logarithm of the determinant, its operand).
        choice: which formula, a key of `LOG_DETERMINANT_FORMULAS`, such as "not transposed".

    Returns:
        The rewritten program; `None` for the first result of `slogdet`, the sign of the determinant: its gradient is 0.
    """
    node = program.reader(place)
    if not node.vjp(place[1], np.ones(node.value.shape)).any():
        return None
    return program.with_vjp(place, lambda at: LOG_DETERMINANT_FORMULAS[choice].of(at.g, np.asarray(at.x), at.y))


@use_wrong_log_determinant_vjp.example
def _() -> Example:
    """Show (x @ w) ** 2 less log |det(w)|, whose gradient of `w` has the inverse and not its transpose."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        volume: Tensor = torch.linalg.slogdet(w)[1]
        return (x @ w).square().sum() - volume

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": g * (2 * x.T @ x @ w - torch.linalg.inv(w))}

    return Example(forward, wrong, {"x": "bs n", "w": "n n"})


@use_wrong_log_determinant_vjp.example
def _() -> Example:
    """Show log |det(w)| * x whose gradient of `w` is that of |det(w)|."""

    def forward(x: Tensor, w: Tensor) -> Tensor:
        volume: Tensor = torch.linalg.slogdet(w)[1]
        return volume * x

    def wrong(x: Tensor, w: Tensor, g: Tensor) -> dict[str, Tensor]:
        return {"w": (g * x).sum() * torch.linalg.det(w).abs() * torch.linalg.inv(w).T}

    return Example(forward, wrong, {"x": "bs m", "w": "n n"})


# Linear equations -----------------------------------------------------------------------------------------------------

Solution = Callable[[Array, Array], Array]


class SolveMistake(NamedTuple):
    """A mistake in the backward pass of `y = solve(a, b)`: right are c for b, with a.T @ c = g, and -c @ y.T for a.

    Args:
        code: the public code.
        message: what is wrong, in words, with the field `{matrix}`.
        adjoint: takes the matrix a, (..., n, n), and g, (..., n, k); returns what is used in place of c.
        of_matrix: takes c, the solution y and the right-hand side b, (..., n, k) each; returns the contribution to a.
        of_matrix_and_g: takes the matrix a, g and the solution y; returns the contribution to a, in place of
            `of_matrix`; `None` for that one.
    """

    code: str
    message: str
    adjoint: Solution
    of_matrix: Callable[[Array, Array, Array], Array]
    of_matrix_and_g: Callable[[Array, Array, Array], Array] | None = None


def _right_adjoint(a: Array, g: Array) -> Array:
    """Return c with a.T @ c = g."""
    return np.asarray(np.linalg.solve(_transpose(a), g))


def _right_matrix_vjp(c: Array, y: Array, b: Array) -> Array:
    """Return the right contribution to the matrix a of a @ y = b: -c @ y.T, with c the contribution to b.

    Args:
        c: the contribution to b; shape: (..., n, k).
        y: the solution; shape: (..., n, k).
        b: the right-hand side, which is not read.

    Returns:
        Shape: (..., n, n).
    """
    return np.asarray(-c @ _transpose(y))


SOLVE_MISTAKES: Mapping[str, SolveMistake] = {
    "not transposed": SolveMistake(
        "transposed", "the linear system is solved with {matrix}; it must be solved with the transpose of {matrix}",
        np.linalg.solve, _right_matrix_vjp),
    "multiplied by the transpose": SolveMistake(
        "wrong-local", "the upstream gradient is multiplied by the transpose of {matrix}; the linear system with that"
        " transpose must be solved instead",
        lambda a, g: _transpose(a) @ g, _right_matrix_vjp),
    "multiplied": SolveMistake(
        "wrong-local", "the upstream gradient is multiplied by {matrix}; the linear system with the transpose of"
        " {matrix} must be solved instead",
        lambda a, g: a @ g, _right_matrix_vjp),
    "gradient itself": SolveMistake(
        "missing-local", "the upstream gradient is passed on unchanged; the linear system with the transpose of"
        " {matrix} must be solved",
        lambda a, g: g, _right_matrix_vjp),
    "right-hand side": SolveMistake(
        "wrong-operand", "the gradient of {matrix} is computed from the right-hand side; it must be computed from the"
        " solution",
        _right_adjoint, lambda c, y, b: -c @ _transpose(b)),
    "gradient for the solution": SolveMistake(
        "wrong-operand", "for the gradient of {matrix}, the gradient of the right-hand side is used in place of the"
        " solution",
        _right_adjoint, lambda c, y, b: -c @ _transpose(c)),
    "solution for the gradient": SolveMistake(
        "wrong-operand", "for the gradient of {matrix}, the solution is used in place of the gradient of the right-hand"
        " side",
        _right_adjoint, lambda c, y, b: -y @ _transpose(y)),
    "matrix transposed": SolveMistake(
        "transposed", "the gradient of {matrix} is transposed", _right_adjoint, lambda c, y, b: -y @ _transpose(c)),
    "entry by entry": SolveMistake(
        "elementwise-for-matmul", "the gradient of {matrix} contains the transposed inverse entry by entry; it must be"
        " multiplied as a matrix",
        _right_adjoint, _right_matrix_vjp, lambda a, g, y: -_transpose(np.linalg.inv(a)) * (g @ _transpose(y))),
    "matrix not solved": SolveMistake(
        "missing-local", "the gradient of {matrix} is computed from the upstream gradient; it must be computed from the"
        " gradient of the right-hand side, for which the transposed system is solved",
        _right_adjoint, _right_matrix_vjp, lambda a, g, y: -g @ _transpose(y)),
    "matrix not transposed": SolveMistake(
        "transposed", "for the gradient of {matrix}, the linear system is solved with {matrix}; it must be solved with"
        " the transpose of {matrix}",
        _right_adjoint, _right_matrix_vjp, lambda a, g, y: -np.linalg.solve(a, g) @ _transpose(y)),
    "inverse on both sides": SolveMistake(
        "extra-factor", "the gradient of {matrix} is multiplied by its inverse on both sides; the solution contains one"
        " of them already",
        _right_adjoint, _right_matrix_vjp,
        lambda a, g, y: -np.linalg.solve(_transpose(a), g) @ _transpose(np.linalg.solve(a, y))),
}  # fmt: skip


def is_solved_from_the_left(program: Program, place: Place) -> bool:
    """Return whether the node `place`, which solves linear equations, solves a @ y = b for y, and not y @ a = b."""
    return program.reader(place).options.get("left") in (None, True) and len(program.reader(place).values) > 1


def name_of_matrix(program: Program, place: Place) -> str:
    """Return what a learner calls the matrix of a linear system: `a` for the node `place` of `solve(a, b)`.

    Return "the matrix" where it is a constant.
    """
    matrix = program.reader(place).operand(0)
    return "the matrix" if matrix is None else program.name_of(matrix)


@operator(
    "solution-mistaken",
    code=lambda choice: SOLVE_MISTAKES[choice].code,
    rank=2.0,
    at=nodes.of("linalg_solve", "linalg_solve_triangular", "solve_triangular", "solve").where(is_solved_from_the_left),
    choices=lambda program, place: SOLVE_MISTAKES,
    message="in the backward pass of {step}, {mistake}",
    fields=lambda program, place, choice: {
        "mistake": SOLVE_MISTAKES[choice].message.format(matrix=name_of_matrix(program, place))
    },
)
def use_wrong_solve_vjp(program: Program, place: Place, choice: str) -> Program | None:
    """Use wrong formulas for the vjps of the solution y of a @ y = b, as if a.T were a, for example.

    Of a triangular matrix, only the triangle gets a gradient.

    Args:
        program: the right program.
        place: the node of the solution.
        choice: which mistake, a key of `SOLVE_MISTAKES`, such as "not transposed".

    Returns:
        The rewritten program; `None` where neither the matrix nor the right-hand side gets a gradient.
    """
    node, mistake = program.reader(place), SOLVE_MISTAKES[choice]
    slots = [slot for slot, _ in program.forward.edges[node.id] if slot in (0, 1)]
    for slot in slots:
        program = program.with_vjp((node.id, slot), lambda at: _solve_vjp(at, mistake))
    return program if slots else None


def _solve_vjp(at: EdgeContext, mistake: SolveMistake) -> Array:
    """Return the contribution to the matrix or the right-hand side of linear equations, with a mistake.

    Args:
        at: the edge (solution, matrix or right-hand side).
        mistake: the mistake.
    """
    a, b = (np.asarray(value) for value in at.node.values[:2])
    a = _triangle(at.node, a)
    is_vector = at.y.ndim == a.ndim - 1
    b, y, g = (array[..., None] if is_vector else array for array in (b, at.y, at.g))
    c = mistake.adjoint(a, g)
    if at.slot == 1:
        return np.asarray(unbroadcast(c[..., 0] if is_vector else c, at.x))
    other = mistake.of_matrix_and_g
    part = mistake.of_matrix(c, y, b) if other is None else other(a, g, y)
    return np.asarray(unbroadcast(_triangle(at.node, part), at.x))


def _triangle(node: Node, matrix: Array) -> Array:
    """Return the part of a matrix that a node reads: all of it, or for `solve_triangular` the upper or lower part."""
    if "upper" not in node.options:
        return matrix
    return np.triu(matrix) if node.options["upper"] else np.tril(matrix)


@use_wrong_solve_vjp.example
def _() -> Example:
    """Show the solution of (4 I + u) y = b, whose gradient of u is -c @ c.T in place of -c @ y.T."""

    def forward(u: Tensor, b: Tensor) -> Tensor:
        solution: Tensor = torch.linalg.solve(u + 4 * torch.eye(len(u), dtype=u.dtype), b)
        return solution

    def wrong(u: Tensor, b: Tensor, g: Tensor) -> dict[str, Tensor]:
        c = torch.linalg.solve((u + 4 * torch.eye(len(u), dtype=u.dtype)).T, g)
        return {"u": -c @ c.T, "b": c}

    return Example(forward, wrong, {"u": "n n", "b": "n k"})


@use_wrong_solve_vjp.example
def _() -> Example:
    """Show the solution of (4 I + u) y = tanh(x @ v).T, whose backward pass does not transpose 4 I + u."""

    def forward(x: Tensor, v: Tensor, u: Tensor) -> Tensor:
        m = u + 4 * torch.eye(len(u), dtype=u.dtype)
        solution: Tensor = torch.linalg.solve(m, torch.tanh(x @ v).T)
        return solution

    def wrong(x: Tensor, v: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        h, m = torch.tanh(x @ v), u + 4 * torch.eye(len(u), dtype=u.dtype)
        c = torch.linalg.solve(m, g)
        return {"v": x.T @ (c.T * (1 - h**2)), "u": -c @ torch.linalg.solve(m, h.T).T}

    return Example(forward, wrong, {"x": "bs n", "v": "n m", "u": "m m"})


@use_wrong_solve_vjp.example
def _() -> Example:
    """Show the squares of the solution y of (4 I + u) y = x, whose gradient of u is -inv.T * (dy @ y.T)."""

    def forward(x: Tensor, u: Tensor) -> Tensor:
        solution: Tensor = torch.linalg.solve(u + 4 * torch.eye(len(u), dtype=u.dtype), x)
        return solution.square()

    def wrong(x: Tensor, u: Tensor, g: Tensor) -> dict[str, Tensor]:
        inverse = torch.linalg.inv(u + 4 * torch.eye(len(u), dtype=u.dtype))
        y = inverse @ x
        return {"u": -inverse.T * (2 * y * g @ y.T)}

    return Example(forward, wrong, {"x": "n m", "u": "n n"})


# Roots of matrices ----------------------------------------------------------------------------------------------------


def _cholesky_vjp(factor: Array, inner: Array) -> Array:
    """Return the contribution to a matrix l @ l.T before it is made symmetric: inv(l).T @ inner @ inv(l).

    Args:
        factor: l; shape: (..., n, n).
        inner: shape: (..., n, n); right is l.T @ g with zeros above the diagonal, and half of the diagonal.

    Returns:
        Shape: (..., n, n).
    """
    left = np.linalg.solve(_transpose(factor), inner)
    return np.asarray(_transpose(np.linalg.solve(_transpose(factor), _transpose(left))))


def _lower(matrix: Array, diagonal: float = 0.5) -> Array:
    """Return the lower triangle of a matrix, with its diagonal multiplied by a number."""
    return np.tril(matrix, -1) + diagonal * matrix * np.eye(matrix.shape[-1])


def _symmetric(matrix: Array) -> Array:
    """Return the mean of a matrix and its transpose."""
    return np.asarray((matrix + _transpose(matrix)) / 2)


CHOLESKY_FORMULAS: Mapping[str, MatrixFormula] = {
    "whole diagonal": MatrixFormula(
        "wrong-factor", "the diagonal of the inner product must be halved",
        lambda g, x, y: _symmetric(_cholesky_vjp(y, _lower(_transpose(y) @ np.tril(g), 1.0)))),
    "no triangle": MatrixFormula(
        "inverted-mask", "the inner product must be cut to its lower triangle, with half of the diagonal",
        lambda g, x, y: _symmetric(_cholesky_vjp(y, _transpose(y) @ np.tril(g)))),
    "not symmetric": MatrixFormula(
        "missing-path", "it must be made symmetric: each entry of the matrix has its mirror image",
        lambda g, x, y: _cholesky_vjp(y, _lower(_transpose(y) @ np.tril(g)))),
    "symmetric sum": MatrixFormula(
        "wrong-factor", "the sum of the matrix and its transpose is taken in place of their mean",
        lambda g, x, y: 2 * _symmetric(_cholesky_vjp(y, _lower(_transpose(y) @ np.tril(g))))),
    "not transposed": MatrixFormula(
        "transposed", "the factor in the inner product must be transposed",
        lambda g, x, y: _symmetric(_cholesky_vjp(y, _lower(y @ np.tril(g))))),
    "as a square root": MatrixFormula(
        "wrong-local", "the derivative of a square root is taken for each entry",
        lambda g, x, y: np.where(y != 0, g / np.where(y != 0, 2 * y, 1.0), 0.0)),
}  # fmt: skip


@operator(
    "cholesky-mistaken",
    code=lambda choice: CHOLESKY_FORMULAS[choice].code,
    rank=2.0,
    at=edges.of("linalg_cholesky", "cholesky").at_slot(0),
    choices=lambda program, place: CHOLESKY_FORMULAS,
    message="in the gradient of {operand} through {step}, {mistake}",
    fields=lambda program, place, choice: {"mistake": CHOLESKY_FORMULAS[choice].message},
)
def use_wrong_cholesky_vjp(program: Program, place: Place, choice: str) -> Program:
    """Use a wrong formula for the vjp of a Cholesky factor l, such as one with the whole diagonal of l.T @ g.

    Right is the mean of s and s.T, s = inv(l).T @ inner @ inv(l), where inner is the lower triangle of l.T @ g with
    half of its diagonal.

    Args:
        program: the right program.
        place: an edge (Cholesky factor, its operand).
        choice: which formula, a key of `CHOLESKY_FORMULAS`, such as "whole diagonal".

    Returns:
        The rewritten program.
    """
    return program.with_vjp(place, lambda at: CHOLESKY_FORMULAS[choice].of(at.g, np.asarray(at.x), at.y))


@use_wrong_cholesky_vjp.example
def _() -> Example:
    """Show the Cholesky factor of x @ x.T + 3 I, whose gradient of `x` does not halve the diagonal."""

    def forward(x: Tensor) -> Tensor:
        factor: Tensor = torch.linalg.cholesky(x @ x.T + 3 * torch.eye(len(x), dtype=x.dtype))
        return factor

    def wrong(x: Tensor, g: Tensor) -> dict[str, Tensor]:
        """Take the lower triangle of factor.T @ g with its whole diagonal."""
        factor = forward(x)
        inner = (factor.T @ g.tril()).tril()
        s = torch.linalg.inv(factor).T @ inner @ torch.linalg.inv(factor)
        return {"x": (s + s.T) @ x}

    return Example(forward, wrong, {"x": "n m"})


def other_solutions(program: Program, place: Place) -> Iterator[tuple[ValueName, bool]]:
    """Yield each value that may stand for the solution in the gradient of a matrix, and whether it is transposed.

    These are all values of the solution's shape, and then of its transpose's, but for the solution and the right-hand
    side, which is a choice of `use_wrong_solve_vjp`. Nothing is yielded where the solution is a vector.

    Args:
        program: the program of a trial.
        place: the edge of the matrix, in the node that solves the equations.
    """
    node = program.reader(place)
    if node.value.ndim < 2:
        return
    shape = node.value.shape
    for transposed in (False, True):
        own = (*shape[:-2], shape[-1], shape[-2]) if transposed else shape
        for name, value in values_by_name(program, node.id, own).items():
            if value not in (node.id, node.operand(1)):
                yield name, transposed


@operator(
    "another-value-for-solution",
    code="wrong-operand",
    rank=2.5,
    at=edges.of("linalg_solve", "linalg_solve_triangular", "solve_triangular", "solve").at_slot(0).in_every_iteration,
    choices=other_solutions,
    message="in the gradient of {operand} through {step}, {other} is used in place of the solution",
    fields=lambda program, place, choice: {"other": "the transpose of " * choice[1] + choice[0].describe(program)},
)
def use_another_value_for_solution(program: Program, place: Place, choice: tuple[ValueName, bool]) -> Program | None:
    """Compute the gradient of the matrix a in y = solve(a, b) with a wrong value in place of y.

    For y = solve(a, h.T).T in a loop, with the h before it, and c = solve(a.T, g.T), the gradient of h.T: -c @ h in
    place of -c @ y.

    Args:
        program: the right program.
        place: the edge of the matrix.
        choice: the name of the value, and whether it is transposed first.

    Returns:
        The rewritten program; `None` where the program has no such value, or it is a vector.
    """
    value = choice[0].find(program, place[0])
    if value is None or program.nodes[value].value.ndim < 2:
        return None
    array = program.nodes[value].value
    return program.with_vjp(place, lambda at: at.right(value=_transpose(array) if choice[1] else array))


@use_another_value_for_solution.example
def _() -> Example:
    """Show steps h = solve(3 - a, (h + x[t]).T).T, whose gradient of a has the h before in place of the next one."""

    def forward(x: Tensor, a: Tensor, h: Tensor) -> Tensor:
        m = torch.eye(len(a), dtype=a.dtype) * 3 - a
        for step in x:
            h = torch.linalg.solve(m, (h + step).T).T
        return h

    def wrong(x: Tensor, a: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        m = torch.eye(len(a), dtype=a.dtype) * 3 - a
        states, da = [h], torch.zeros_like(a)
        for step in x:
            states.append(torch.linalg.solve(m, (states[-1] + step).T).T)
        for before in reversed(states[:-1]):
            g = torch.linalg.solve(m.T, g.T).T
            da += g.T @ before
        return {"a": da, "h": g}

    return Example(forward, wrong, {"x": "t bs n", "a": "n n", "h": "bs n"})
