"""Slips in a pointwise operation: its derivative, the point it is taken at, and undoing a broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from grader.reference.symbolic_numbers import spelling

from .operator import SUMS, At, Operator, Parameters, unbroadcast

QUOTIENTS = {"div", "__rdiv__", "__rtruediv__", "reciprocal"}
ROOT_PI = math.pi**0.5
Slope = Callable[[At], torch.Tensor]
Rule = Callable[[At], torch.Tensor]


def scaled(slope: Slope) -> Rule:
    """A rule: the upstream gradient times a wrong derivative."""
    return lambda at: at.fitted(at.g * slope(at))


def is_pointwise(at: At) -> bool:
    """The value has one entry for each entry of the (broadcast) operands, and depends on no other entry of this one."""
    shapes = [at.step.operand(where).shape for where, _ in at.step.operands]
    try:
        if tuple(np.broadcast_shapes(*shapes)) != tuple(at.y.shape):
            return False
    except ValueError:  # the operands do not broadcast, as in `cat`
        return False
    last = torch.zeros(at.y.shape, dtype=at.y.dtype)
    last.view(-1)[-1:] = 1
    moved = at.back(last, {at.where: at.x.expand(at.y.shape)})
    return not bool(moved.nan_to_num().flatten()[:-1].any())


def _of(*names: str) -> Callable[[At], bool]:
    return lambda at: at.step.name in names


def _is_mask(at: At) -> bool:
    slopes = at.slopes
    return bool(((slopes == 0) | (slopes == 1)).all()) and not bool((slopes == 1).all())


def _is_minus(at: At) -> bool:
    return bool((at.slopes == -1).all())


def _is_derived(at: At) -> bool:
    """Its derivative is more than a sign or the partner in a product."""
    return not _is_minus(at) and (at.step.name != "mul" or len(at.step.operands) == 1)


def _is_constant(at: At) -> bool:
    slopes = at.slopes
    return bool((slopes == slopes.flatten()[0]).all())


def _is_power(at: At) -> bool:
    return at.step.name == "pow" and at.where == (0,) and not isinstance(at.step.args[1], torch.Tensor)


def _is_denominator(at: At) -> bool:
    return at.step.name in QUOTIENTS and at.where == ((1,) if at.step.name == "div" else (0,))


def _exponent(at: At) -> Parameters:
    return {"k": spelling(at.step.args[1])}


def _power(name: str, code: str, slope: Callable[[torch.Tensor, float], torch.Tensor]) -> Operator:
    return Operator(name, code, scaled(lambda at: slope(at.x, at.step.args[1])), _is_power, tell=_exponent)


def _bare_power(name: str, way: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Operator:
    return Operator(name, "wrong-local", lambda at: way(at.step.args[1] * at.y, at.g), _is_power)


def _edges(at: At) -> tuple[Any, Any]:
    """The lower and the upper edge of a clamp, `None` where there is none."""
    low, high, *_ = (*at.step.args[1:], None, None)
    return at.step.kwargs.get("min", low), at.step.kwargs.get("max", high)


def _has_edges(at: At) -> bool:
    return at.step.name in {"clamp", "clip"} and all(isinstance(edge, (int, float)) for edge in _edges(at))


def _partner_or_one(at: At) -> torch.Tensor:
    return at.partner if at.others else torch.ones_like(at.g)


def _function(
    name: str, code: str, function: str, slope: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> Operator:
    """A wrong derivative of one function, from its operand and its value."""
    return Operator(name, code, scaled(lambda at: slope(at.x, at.y)), _of(*function.split()))


def _has_two_operands(at: At) -> bool:
    return len(at.step.operands) == 2


POINTWISE = (
    Operator("mask-inverted", "inverted-mask", scaled(lambda at: 1 - at.d), _is_mask),
    Operator("minus-missing", "wrong-sign", scaled(lambda at: torch.ones_like(at.y)), _is_minus),
    Operator("derivative-missing", "missing-local", scaled(lambda at: torch.ones_like(at.y)), _is_derived),
    Operator("derivative-twice", "extra-factor", scaled(lambda at: at.d * at.d), lambda at: not _is_minus(at)),
    _function("power-rule-for-exp", "wrong-local", "exp", lambda x, y: x * (x - 1).exp()),
    _function("exp-times-x", "wrong-local", "exp", lambda x, y: y * x),
    _function("exp-for-derivative-of-log", "wrong-local", "log", lambda x, y: x.exp()),
    _function("square-in-derivative-of-log", "wrong-local", "log", lambda x, y: x**-2),
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
    _function("only-constant-of-erf", "missing-local", "erf", lambda x, y: 0 * x + 2 / ROOT_PI),
    _function("minus-in-erf-missing", "wrong-sign", "erf", lambda x, y: 2 / ROOT_PI * (x * x).exp()),
    _function("half-of-sqrt-missing", "missing-local", "sqrt", lambda x, y: 1 / y),
    _function("sqrt-in-numerator", "wrong-local", "sqrt", lambda x, y: y / 2),
    _function("closed-entries-negative", "wrong-local", "clamp_min relu", lambda x, y: x.sign()),
    _function("half-of-rsqrt-missing", "missing-local", "rsqrt", lambda x, y: -(y**3)),
    _function("minus-of-rsqrt-missing", "wrong-sign", "rsqrt", lambda x, y: y**3 / 2),
    _function("power-of-rsqrt", "wrong-local", "rsqrt", lambda x, y: -(y**2) / 2),
    _function("power-of-rsqrt", "wrong-local", "rsqrt", lambda x, y: -y / 2),
    _function("sigmoid-for-silu", "wrong-local", "silu", lambda x, y: x.sigmoid() * (1 - x.sigmoid())),
    _function("only-sign-in-power", "wrong-local", "square", lambda x, y: 2 * x.sign()),
    _function("factor-two-missing", "missing-local", "square", lambda x, y: x),
    _function("cos-for-sin", "wrong-local", "sin", lambda x, y: y),
    _function("sign-of-derivative", "wrong-sign", "sin", lambda x, y: -x.cos()),
    _function("sign-of-derivative", "wrong-sign", "cos", lambda x, y: x.sin()),
    _function("value-for-sign", "wrong-local", "abs", lambda x, y: x),
    _function("sigmoid-part-only", "missing-path", "silu", lambda x, y: x.sigmoid()),
    _function("second-part-only", "missing-path", "silu", lambda x, y: x * x.sigmoid() * (1 - x.sigmoid())),
    _power("factor-of-power-missing", "missing-local", lambda x, n: x ** (n - 1)),
    _power("only-factor-of-power", "missing-local", lambda x, n: n + 0 * x),
    _power("exponent-not-lowered", "wrong-local", lambda x, n: n * x**n),
    _power("exponent-raised", "wrong-local", lambda x, n: n * x ** (n + 1)),
    _power("exponent-lowered-twice", "wrong-local", lambda x, n: n * x ** (n - 2)),
    _power("new-exponent-as-factor", "wrong-local", lambda x, n: (n - 1) * x ** (n - 1)),
    _power("next-higher-power", "wrong-local", lambda x, n: (n + 1) * x**n),
    _power("factor-raised-too", "wrong-local", lambda x, n: (n * x) ** (n - 1)),
    _bare_power("brackets-of-exponent-missing", lambda power, g: power - g),
    _bare_power("brackets-of-exponent-missing", lambda power, g: power * g - 1),
    _bare_power("brackets-of-exponent-missing", lambda power, g: (power - 1) * g),
    _power("factor-of-power-twice", "extra-factor", lambda x, n: n * n * x ** (n - 1)),
    _power("absolute-value-for-power", "wrong-local", lambda x, n: x.sign()),
    _power("sign-lost-in-power", "wrong-local", lambda x, n: n * x.abs() ** (n - 1)),
    _power("only-sign-in-power", "wrong-local", lambda x, n: n * x.sign()),
    _power("antiderivative", "wrong-local", lambda x, n: x ** (n + 1) / (n + 1)),
    Operator("denominator-not-squared", "wrong-local", scaled(lambda at: at.d * at.x), _is_denominator),
    Operator("denominator-cubed", "wrong-local", scaled(lambda at: at.d / at.x), _is_denominator),
    Operator("sign-and-square-missing", "wrong-local", scaled(lambda at: -at.d * at.x), _is_denominator),
    Operator("numerator-missing", "missing-local", scaled(lambda at: -1 / at.x**2), _is_denominator),
    Operator("quotient-as-product", "wrong-local", lambda at: at.g * _partner_or_one(at), _is_denominator),
    Operator("logarithm-for-quotient", "wrong-local", scaled(lambda at: at.x.abs().log()), _is_denominator),
    Operator("sum-as-product", "wrong-local", lambda at: at.fitted(at.g * at.partner),
             lambda at: at.step.name in SUMS and _has_two_operands(at)),
    Operator("quotient-upside-down", "wrong-local", scaled(lambda at: 1 / at.step.vjp((0,), torch.ones_like(at.y))),
             lambda at: at.step.name == "div" and at.where == (0,) and _has_two_operands(at)),
    Operator("only-lower-edge", "wrong-local",
             scaled(lambda at: torch.heaviside(at.x - _edges(at)[0], at.d)), _has_edges),
    Operator("only-upper-edge", "wrong-local",
             scaled(lambda at: torch.heaviside(_edges(at)[1] - at.x, at.d)), _has_edges),
    Operator("function-of-gradient", "wrong-local",
             lambda at: unbroadcast(at.step.apply({at.where: at.g}), at.g.shape)),
    Operator("value-for-derivative", "wrong-local", scaled(lambda at: at.y)),
    Operator("derivative-added", "wrong-local", lambda at: at.fitted(at.g + at.d),
             lambda at: at.step.name not in SUMS),
    Operator("divided-by-derivative", "wrong-factor", scaled(lambda at: 1 / at.d), _is_constant),
    Operator("divided-by-derivative", "wrong-local", scaled(lambda at: 1 / at.d), lambda at: not _is_constant(at)),
    Operator("derivative-at-upstream", "wrong-point", scaled(lambda at: at.derivative_at(at.g)),
             lambda at: at.given and at.is_last and not _is_constant(at) and at.x.shape == at.y.shape),
)  # fmt: skip


# Derivatives that are written with a function's output, as a sum of terms; the output may stand in two places.
# (For 1 / x, -y**2 with x for y is the derivative taken at y.)
FORMS: dict[str, Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "sigmoid": lambda y, again: (y, -y * again),
    "tanh": lambda y, again: (torch.ones_like(y), -y * again),
    "exp": lambda y, again: (y,),
    "sqrt": lambda y, again: (0.5 / y,),
}


def _form(at: At, y: torch.Tensor, again: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
    return FORMS[at.step.name](y, y if again is None else again)


def _has_form(at: At) -> bool:
    return at.step.name in FORMS


def _has_two_terms(at: At) -> bool:
    return _has_form(at) and len(_form(at, at.y)) == 2


def _ends_in_two_terms(at: At) -> bool:
    return _has_two_terms(at) and at.given and at.is_last


def same_shape(trace_values: dict[str, torch.Tensor], like: torch.Tensor) -> Iterator[str]:
    """The keys of floating-point values of one shape."""
    for key, value in trace_values.items():
        if value.shape == like.shape and value.is_floating_point():
            yield key


def _other_outputs(at: At) -> Iterator[Parameters]:
    return ({"key": key} for key in same_shape(at.trace.values(), at.y) if key != at.step.key)


def _value(at: At, key: str) -> torch.Tensor:
    value = at.trace.values()[key]
    if value.shape != at.y.shape:
        raise ValueError("the values have different shapes in this trial")
    return value


def _there(at: At, key: str) -> Parameters:
    return {"there": at.named(key)}


def _at_output(first: bool, second: bool) -> Callable[..., torch.Tensor]:
    def rule(at: At, key: str) -> torch.Tensor:
        other = _value(at, key)
        return at.fitted(at.g * sum(_form(at, other if first else at.y, other if second else at.y)))

    return rule


def _terms(change: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
    return lambda at: at.fitted(change(at.g, *_form(at, at.y)))


OUTPUT_FORMS = (
    Operator("another-output", "wrong-point", _at_output(True, True), _has_form, _other_outputs, _there),
    Operator("another-output-in-one-place", "wrong-point", _at_output(True, False), _has_two_terms, _other_outputs, _there),
    Operator("another-output-in-one-place", "wrong-point", _at_output(False, True), _has_two_terms, _other_outputs, _there),
    Operator("second-term-positive", "wrong-sign", _terms(lambda g, a, b: g * (a - b)), _has_two_terms),
    Operator("parentheses-missing", "missing-upstream", _terms(lambda g, a, b: g * a + b), _ends_in_two_terms),
    Operator("parentheses-missing", "missing-upstream", _terms(lambda g, a, b: a + g * b), _ends_in_two_terms),
    Operator("output-and-upstream-exchanged", "wrong-operand", lambda at: at.y * sum(_form(at, at.g)),
             _ends_in_two_terms),
)  # fmt: skip


def summed_axes(shape: Sequence[int], wide: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that broadcasting put in front, and those it stretched from size 1."""
    added = len(wide) - len(shape)
    stretched = [i + added for i, size in enumerate(shape) if size == 1 and wide[i + added] != 1]
    return tuple(range(added)), tuple(stretched)


def _all_axes(at: At) -> tuple[int, ...]:
    return sum(summed_axes(at.x.shape, at.y.shape), ())


Undo = Callable[[At, torch.Tensor], torch.Tensor]


def _sum_in_front(at: At, terms: torch.Tensor) -> torch.Tensor:
    added, _ = summed_axes(at.x.shape, terms.shape)
    return terms.sum(added) if added else terms


def _sum_stretched(at: At, terms: torch.Tensor) -> torch.Tensor:
    _, stretched = summed_axes(at.x.shape, terms.shape)
    return terms.sum(stretched, keepdim=True) if stretched else terms


def _sum_behind(at: At, terms: torch.Tensor) -> torch.Tensor:
    while terms.dim() > at.x.dim():
        terms = terms.sum(-1)
    return _sum_stretched(at, terms)


def _largest(at: At, terms: torch.Tensor) -> torch.Tensor:
    for axis in _all_axes(at):
        terms = terms.amax(axis, keepdim=True)
    return terms.reshape(at.x.shape)


def _one_place(place: int, which: Callable[[At], Sequence[int]]) -> Undo:
    """The terms at one place of some axes, summed over the others that broadcasting made."""

    def undo(at: At, terms: torch.Tensor) -> torch.Tensor:
        for axis in which(at):
            terms = terms.narrow(axis, place % terms.shape[axis], 1)
        return at.fitted(terms.expand(terms.shape))

    return undo


def _in_front(at: At) -> tuple[int, ...]:
    return summed_axes(at.x.shape, at.y.shape)[0]


def _stretched(at: At) -> tuple[int, ...]:
    return summed_axes(at.x.shape, at.y.shape)[1]


def _mean(at: At, terms: torch.Tensor) -> torch.Tensor:
    return at.fitted(terms) * at.x.numel() / terms.numel()


def _undone(name: str, code: str, undo: Undo) -> Operator:
    return Operator(name, code, lambda at: undo(at, at.g * at.d), _is_broadcast)


def _is_broadcast(at: At) -> bool:
    return at.x.shape != at.y.shape


def _summed_apart(at: At) -> torch.Tensor:
    return at.fitted(at.g) * at.fitted(at.d)


# Told in words that hold for whichever axes a trial broadcasts.
BROADCASTING = (
    _undone("stretched-axes-not-summed", "missing-batch-sum", _sum_in_front),
    _undone("axes-in-front-not-summed", "missing-batch-sum", _sum_stretched),
    _undone("last-axes-summed", "summed-wrong-axis", _sum_behind),
    _undone("all-summed", "summed-wrong-axis", lambda at, terms: terms.sum().expand(at.x.shape)),
    _undone("cut-and-summed", "summed-wrong-axis",
            lambda at, terms: terms.reshape(-1, at.x.numel()).sum(0).reshape(at.x.shape)),
    _undone("broadcast-axes-averaged", "mean-for-sum", _mean),
    _undone("only-first-copy", "partial-batch", _one_place(0, _all_axes)),
    _undone("only-last-copy", "partial-batch", _one_place(-1, _all_axes)),
    _undone("only-largest-copy", "partial-batch", _largest),
    _undone("only-first-in-front", "partial-batch", _one_place(0, _in_front)),
    _undone("only-last-in-front", "partial-batch", _one_place(-1, _in_front)),
    _undone("only-first-stretched", "partial-batch", _one_place(0, _stretched)),
    _undone("only-last-stretched", "partial-batch", _one_place(-1, _stretched)),
    Operator("factors-summed-apart", "sum-of-products", _summed_apart,
             lambda at: _is_broadcast(at) and at.step.name not in SUMS and len(at.step.operands) > 1),
)  # fmt: skip
