"""Slips in the derivative of a matrix's inverse, -y.T @ g @ y.T, and of a determinant, g * y * x^-T."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.reference.operand_view import At

from .contraction import UPSTREAM_TRANSPOSED
from .operator import Operator

INVERSES, DETERMINANTS = {"inverse", "linalg_inv"}, {"det", "linalg_det"}


def is_inverting(at: At) -> bool:
    """The inverse of a matrix, or a determinant: what goes back goes through the inverse."""
    return at.name in INVERSES | DETERMINANTS


Sides = Callable[[torch.Tensor], tuple[torch.Tensor | None, torch.Tensor | None]]


def _between(name: str, code: str, *sides: tuple[str, Sides]) -> Operator:
    """What arrives between other factors than the inverse, turned round, on its left and on its right."""
    by_side = dict(sides)

    def rule(at: At, side: str) -> torch.Tensor:
        left, right = by_side[side](at.y)
        found = at.g if left is None else left @ at.g
        return -(found if right is None else found @ right)

    return Operator(name, code, rule, lambda at: at.name in INVERSES, lambda at: ({"side": side} for side in by_side),
                    lambda at, side: {"side": side})  # fmt: skip


def _inverse(name: str, code: str, rule: Callable[[At], torch.Tensor]) -> Operator:
    return Operator(name, code, rule, lambda at: at.name in INVERSES)


def _determinant(name: str, code: str, factor: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    """The upstream gradient and the determinant, times something else than the inverse turned round."""
    return Operator(name, code, lambda at: (at.g * at.y)[..., None, None] * factor(at.x),
                    lambda at: at.name in DETERMINANTS)  # fmt: skip


INVERTING = (
    _between("inverse-not-transposed", "transposed", ("on both sides", lambda y: (y, y)),
             ("on the left", lambda y: (y, y.mT)), ("on the right", lambda y: (y.mT, y))),
    _between("inverse-on-one-side", "missing-local", ("left", lambda y: (y.mT, None)),
             ("right", lambda y: (None, y.mT))),
    _between("inverse-twice-on-one-side", "wrong-operand", ("left", lambda y: (y.mT @ y.mT, None)),
             ("right", lambda y: (None, y.mT @ y.mT))),
    _inverse("inverse-entry-by-entry", "elementwise-for-matmul", lambda at: -at.g * at.y**2),
    _inverse("inverse-entry-by-entry", "elementwise-for-matmul", lambda at: -at.g / at.x**2),
    _inverse("inverse-entry-by-entry", "elementwise-for-matmul", lambda at: -at.g * at.y.mT**2),
    _determinant("determinant-entry-by-entry", "elementwise-for-matmul", torch.reciprocal),
    _determinant("determinant-as-of-diagonal", "wrong-local", lambda x: (1 / x.diagonal(0, -2, -1)).diag_embed()),
    _determinant("determinant-without-inverse", "inverse-for-transpose", lambda x: x.mT),
    Operator("determinant-missing", "missing-local", lambda at: at.back() / at.y[..., None, None],
             lambda at: at.name in DETERMINANTS),
    UPSTREAM_TRANSPOSED,
)  # fmt: skip
