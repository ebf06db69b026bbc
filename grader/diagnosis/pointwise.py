"""Slips in a pointwise operation: its derivative, the point it is taken at, and undoing a broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from grader.reference.operand_view import At, name_beside, shaped, unbroadcast, value_at, values_beside
from grader.reference.operations import SUMS
from grader.reference.symbolic_numbers import spelling

from .operator import Operator, Parameters

QUOTIENTS = {"div", "__rdiv__", "__rtruediv__", "reciprocal"}
ROOT_PI = math.pi**0.5
Axes = tuple[int, ...]


def _slopes(at: At) -> set[float]:
    return set(at.slopes.flatten().tolist())


def _is_power(at: At) -> bool:
    return at.name == "pow" and at.where == (0,) and not isinstance(at.step.args[1], torch.Tensor)


def _is_denominator(at: At) -> bool:
    return at.name in QUOTIENTS and at.where == ((1,) if at.name == "div" else (0,))


def _slope(name: str, code: str, slope: Callable[[At], Any], when: Callable[[At], bool] = lambda at: True) -> Operator:
    return Operator(name, code, lambda at: at.fitted(at.g * slope(at)), when)


def _function(name: str, code: str, function: str, slope: Callable[[torch.Tensor, torch.Tensor], Any]) -> Operator:
    return _slope(name, code, lambda at: slope(at.x, at.y), lambda at: at.name in function.split())


def _power(name: str, code: str, slope: Callable[[torch.Tensor, float], torch.Tensor]) -> Operator:
    """A wrong derivative of a power, from its operand and the exponent."""
    return Operator(name, code, lambda at: at.fitted(at.g * slope(at.x, at.step.args[1])), _is_power,
                    tell=lambda at: {"k": spelling(at.step.args[1])})  # fmt: skip


POINTWISE = (
    _slope("mask-inverted", "inverted-mask", lambda at: 1 - at.d,
           lambda at: {0.0} <= _slopes(at) <= {0.0, 1.0} and at.name != "detach"),
    _slope("minus-missing", "wrong-sign", lambda at: at.ones, lambda at: _slopes(at) == {-1.0}),
    _slope("derivative-missing", "missing-local", lambda at: at.ones,  # more than a sign or the partner in a product
           lambda at: _slopes(at) != {-1.0} and at.name != "detach" and (at.name != "mul" or not at.others)),
    _slope("derivative-twice", "extra-factor", lambda at: at.d * at.d, lambda at: _slopes(at) != {-1.0}),
    _function("power-rule-for-exp", "wrong-local", "exp", lambda x, y: x * (x - 1).exp()),
    _function("exp-for-derivative-of-log", "wrong-local", "log", lambda x, y: x.exp()),
    _function("one-factor-of-sigmoid", "missing-local", "sigmoid", lambda x, y: 1 - y),
    _function("exp-in-sigmoid-missing", "missing-local", "sigmoid", lambda x, y: y * y),
    _function("tanh-for-sigmoid", "wrong-local", "sigmoid", lambda x, y: 1 - y * y),
    _function("second-derivative", "wrong-local", "sigmoid", lambda x, y: 1 - 2 * y),
    _function("square-missing", "wrong-local", "tanh", lambda x, y: 1 - y),
    _function("cosh-not-squared", "wrong-local", "tanh", lambda x, y: 1 / x.cosh()),
    _function("sigmoid-for-tanh", "wrong-local", "tanh", lambda x, y: y * (1 - y)),
    _function("difference-squared", "wrong-local", "tanh", lambda x, y: (1 - y) ** 2),
    _function("second-derivative", "wrong-local", "tanh", lambda x, y: -2 * y),
    _function("constant-of-erf-missing", "missing-local", "erf", lambda x, y: (-x * x).exp()),
    _function("minus-in-erf-missing", "wrong-sign", "erf", lambda x, y: 2 / ROOT_PI * (x * x).exp()),
    _function("half-of-sqrt-missing", "missing-local", "sqrt", lambda x, y: 1 / y),
    _function("sqrt-in-numerator", "wrong-local", "sqrt", lambda x, y: y / 2),
    _function("closed-entries-negative", "wrong-local", "clamp_min relu", lambda x, y: x.sign()),
    _function("sigmoid-for-silu", "wrong-local", "silu", lambda x, y: x.sigmoid() * (1 - x.sigmoid())),
    _function("relu-for-smooth", "wrong-local", "elu gelu silu softplus selu celu", lambda x, y: (x > 0).to(x.dtype)),
    _function("lower-branch-everywhere", "wrong-local", "elu", lambda x, y: x.exp()),
    _function("normal-part-only", "missing-path", "gelu", lambda x, y: y / x),
    _function("sigmoid-part-only", "missing-path", "silu", lambda x, y: x.sigmoid()),
    _power("factor-of-power-missing", "missing-local", lambda x, n: x ** (n - 1)),
    _power("only-factor-of-power", "missing-local", lambda x, n: n + 0 * x),
    _power("exponent-not-lowered", "wrong-local", lambda x, n: n * x**n),
    _power("exponent-raised", "wrong-local", lambda x, n: n * x ** (n + 1)),
    _power("next-higher-power", "wrong-local", lambda x, n: (n + 1) * x**n),
    _power("factor-raised-too", "wrong-local", lambda x, n: (n * x) ** (n - 1)),
    Operator("brackets-of-exponent-missing", "wrong-local", lambda at: at.step.args[1] * at.y - at.g, _is_power),
    _power("factor-of-power-twice", "extra-factor", lambda x, n: n * n * x ** (n - 1)),
    _power("sign-lost-in-power", "wrong-local", lambda x, n: n * x.abs() ** (n - 1)),
    _slope("denominator-not-squared", "wrong-local", lambda at: at.d * at.x, _is_denominator),
    Operator("quotient-as-product", "wrong-local", lambda at: at.g * (at.partner if at.others else 1), _is_denominator),
    _slope("sum-as-product", "wrong-local", lambda at: at.partner, lambda at: at.name in SUMS and len(at.others) == 1),
    Operator("function-of-gradient", "wrong-local",
             lambda at: unbroadcast(at.step.apply({at.where: at.g}), at.g.shape)),
    _slope("value-for-derivative", "wrong-local", lambda at: at.y),
    Operator("derivative-added", "wrong-local", lambda at: at.fitted(at.g + at.d), lambda at: at.name not in SUMS),
    _slope("divided-by-derivative", "wrong-factor", lambda at: 1 / at.d, lambda at: len(_slopes(at)) == 1),
    _slope("divided-by-derivative", "wrong-local", lambda at: 1 / at.d, lambda at: len(_slopes(at)) > 1),
    _slope("derivative-at-negated", "wrong-point", lambda at: at.derivative_at(-at.x), lambda at: len(_slopes(at)) > 1),
    Operator("size-for-denominator", "wrong-operand",
             lambda at, name: at.back(at.g * at.step.args[1] / at.trace.sizes[name]),
             lambda at: at.name == "div" and at.where == (0,) and isinstance(at.step.args[1], torch.Tensor),
             lambda at: ({"name": name} for name in at.trace.sizes), lambda at, name: {
             "name": name, "size": at.trace.sizes[name], "there": at.named(dict(at.step.sources)[(1,)])}),
)  # fmt: skip


# Derivatives that are written with a function's output, as a sum of terms; the output may stand in two places.
# (For 1 / x, -y**2 with x for y is the derivative taken at y.)
FORMS: dict[str, Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "sigmoid": lambda y, again: (y, -y * again), "tanh": lambda y, again: (torch.ones_like(y), -y * again),
    "exp": lambda y, again: (y,), "sqrt": lambda y, again: (0.5 / y,),
}  # fmt: skip
OF_TWO_TERMS = {"sigmoid", "tanh"}


def _other_outputs(at: At) -> Iterator[Parameters]:
    return (one for one in values_beside(at, at.trace.values(), at.y) if one["key"] != at.step.key)


def _at_output(at: At, own: str = "", **chosen: Any) -> torch.Tensor:
    """The derivative written with another output; in one place still with its own."""
    other = shaped(value_at(at, **chosen), at.y)
    y, again = (at.y if own == place else other for place in ("first", "second"))
    return at.fitted(at.g * sum(FORMS[at.name](y, again)))


def _of_terms(name: str, code: str, change: Callable[..., torch.Tensor], when: Callable[[At], bool]) -> Operator:
    return Operator(name, code, lambda at: at.fitted(change(at.g, *FORMS[at.name](at.y, at.y))), when)


def _ends_in_two_terms(at: At) -> bool:
    return at.name in OF_TWO_TERMS and at.is_given_last


OUTPUT_FORMS = (
    Operator("another-output", "wrong-point", _at_output, lambda at: at.name in FORMS, _other_outputs,
             lambda at, **other: {"there": name_beside(at, **other)}),
    Operator("another-output-in-one-place", "wrong-point", _at_output, lambda at: at.name in OF_TWO_TERMS,
             lambda at: ({**other, "own": own} for own in ("second", "first") for other in _other_outputs(at)),
             lambda at, own, **other: {"there": name_beside(at, **other)}),
    _of_terms("second-term-positive", "wrong-sign", lambda g, a, b: g * (a - b), lambda at: at.name in OF_TWO_TERMS),
    _of_terms("parentheses-missing", "missing-upstream", lambda g, a, b: g * a + b, _ends_in_two_terms),
    _of_terms("parentheses-missing", "missing-upstream", lambda g, a, b: a + g * b, _ends_in_two_terms),
    Operator("output-from-upstream", "not-linear", lambda at: at.g * sum(FORMS[at.name](at.g, at.g)),
             lambda at: at.name in OF_TWO_TERMS),
    Operator("output-and-upstream-exchanged", "wrong-operand", lambda at: at.y * sum(FORMS[at.name](at.g, at.g)),
             _ends_in_two_terms),
)  # fmt: skip


def summed_axes(shape: Sequence[int], wide: Sequence[int]) -> tuple[Axes, Axes]:
    """The axes that broadcasting put in front, and those it stretched from size 1."""
    added = len(wide) - len(shape)
    stretched = [i + added for i, size in enumerate(shape) if size == 1 and wide[i + added] != 1]
    return tuple(range(added)), tuple(stretched)


def broadcast_axes(at: At) -> Axes:
    """All axes that the value has copies of the operand along."""
    return sum(summed_axes(at.x.shape, at.y.shape), ())


def _sum_stretched(at: At, terms: torch.Tensor) -> torch.Tensor:
    _, stretched = summed_axes(at.x.shape, terms.shape)
    return terms.sum(stretched, keepdim=True) if stretched else terms


def _undone(name: str, code: str, undo: Callable[[At, torch.Tensor], torch.Tensor]) -> Operator:
    """What becomes of the terms that must be summed to the operand's shape."""
    return Operator(name, code, lambda at: undo(at, at.g * at.d), lambda at: at.x.shape != at.y.shape)


def _one_copy(name: str, place: int, which: Callable[[At], Axes]) -> Operator:
    """The terms at one place of some axes, summed over the others that broadcasting made."""

    def undo(at: At, terms: torch.Tensor) -> torch.Tensor:
        for axis in which(at):
            terms = terms.narrow(axis, place % terms.shape[axis], 1)
        return at.fitted(terms)

    return _undone(name, "partial-batch", undo)


# Told in words that hold for whichever axes a trial broadcasts.
BROADCASTING = (
    _undone("stretched-axes-not-summed", "missing-batch-sum",
            lambda at, terms: unbroadcast(terms, terms.shape[terms.dim() - at.x.dim() :])),
    _undone("axes-in-front-not-summed", "missing-batch-sum", _sum_stretched),
    _undone("cut-and-summed", "summed-wrong-axis",
            lambda at, terms: terms.reshape(-1, at.x.numel()).sum(0).reshape(at.x.shape)),
    _undone("broadcast-axes-averaged", "mean-for-sum",
            lambda at, terms: at.fitted(terms) * at.x.numel() / terms.numel()),
    _one_copy("only-first-copy", 0, broadcast_axes),
    _one_copy("only-last-copy", -1, broadcast_axes),
    _undone("only-largest-copy", "partial-batch",
            lambda at, terms: (terms.amax(axes) if (axes := broadcast_axes(at)) else terms).reshape(at.x.shape)),
    _one_copy("only-first-in-front", 0, lambda at: summed_axes(at.x.shape, at.y.shape)[0]),
    _one_copy("only-first-stretched", 0, lambda at: summed_axes(at.x.shape, at.y.shape)[1]),
    Operator("factors-summed-apart", "sum-of-products", lambda at: at.fitted(at.g) * at.fitted(at.d),
             lambda at: at.x.shape != at.y.shape and at.name not in SUMS and bool(at.others)),
)  # fmt: skip
