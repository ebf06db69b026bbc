"""Slips that belong to one function: a power's exponent, a quotient's square, the half of a sigmoid's slope."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from grader.reference.trace import Position, Rule, Step, Trace

from .fault import SUMS, Fault, Make, words
from .summing_faults import unbroadcast

QUOTIENTS = {"div", "__rdiv__", "__rtruediv__", "reciprocal"}
Scaled = Callable[[Callable[[torch.Tensor, Step], torch.Tensor]], Rule]
Slope = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

ROOT_PI = math.pi**0.5
BLOCKED = "closed entries pass the gradient with a minus, where they should pass nothing"
SLOPES: Mapping[str, tuple[tuple[str, str, Slope], ...]] = {
    "exp": (
        ("wrong-local", "exp is no power: x * exp(x - 1) is not its derivative", lambda x, y: x * (x - 1).exp()),
        ("wrong-local", "the derivative of exp(x) has no factor x", lambda x, y: y * x),
    ),
    "log": (
        ("wrong-local", "exp undoes the logarithm; its derivative is something else", lambda x, y: x.exp()),
        ("wrong-local", "1 / x**2 is not the derivative of the logarithm", lambda x, y: x**-2),
    ),
    "sigmoid": (
        ("missing-local", "of the two factors in the slope of `sigmoid` only one is there", lambda x, y: 1 - y),
        ("missing-local", "the exponential inside the `sigmoid` was not differentiated", lambda x, y: y * y),
        ("wrong-local", "this is the slope of tanh, not of `sigmoid`", lambda x, y: 1 - y * y),
        ("wrong-local", "the slope of `sigmoid` was differentiated once more", lambda x, y: 1 - 2 * y),
    ),
    "tanh": (
        ("wrong-local", "the square in the slope of `tanh` is left out", lambda x, y: 1 - y),
        ("wrong-local", "1 / cosh is not squared in the slope of `tanh`", lambda x, y: 1 / x.cosh()),
        ("wrong-local", "this is the slope of sigmoid, not of `tanh`", lambda x, y: y * (1 - y)),
        ("wrong-local", "in the slope of `tanh` the difference is squared, not the output", lambda x, y: (1 - y) ** 2),
        ("wrong-local", "the slope of `tanh` was differentiated once more", lambda x, y: -2 * y),
    ),
    "erf": (
        ("missing-local", "the 2 / sqrt(pi) in the slope of `erf` is left out", lambda x, y: (-x * x).exp()),
        ("missing-local", "of the slope of `erf` only the 2 / sqrt(pi) is there", lambda x, y: 0 * x + 2 / ROOT_PI),
        ("wrong-sign", "the exponent in the slope of `erf` lacks its minus", lambda x, y: 2 / ROOT_PI * (x * x).exp()),
    ),
    "sqrt": (
        ("missing-local", "the 1/2 in the slope of `sqrt` is left out", lambda x, y: 1 / y),
        ("wrong-local", "in the slope of `sqrt` the root belongs below the line", lambda x, y: y / 2),
    ),
    "clamp_min": (("wrong-local", BLOCKED, lambda x, y: x.sign()),),
    "relu": (("wrong-local", BLOCKED, lambda x, y: x.sign()),),
}


def known_slips(step: Step, position: Position, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    """The slips of this one function.

    Args:
        scaled: turns a wrong derivative, from the right one and the step, into a rule.
    """
    for code, says, slope in SLOPES.get(step.name, ()):
        yield fault(code, says, scaled(_slope(slope, position)))
    if step.name == "pow" and position == (0,) and not isinstance(step.args[1], torch.Tensor):
        yield from _power_slips(step, fault, scaled)
    if step.name in QUOTIENTS and position == ((1,) if step.name == "div" else (0,)):
        yield from _quotient_slips(position, fault, scaled)
    if step.name in SUMS and len(step.operands) == 2:
        (other,) = (where for where, _ in step.operands if where != position)
        says = f"{words(step)} is differentiated as if it were a product"
        yield fault("wrong-local", says, _times_other(position, other))
    if step.name in {"clamp", "clip"} and position == (0,):
        yield from _range_slips(step, fault, scaled)


def _slope(slope: Slope, position: Position) -> Callable[[torch.Tensor, Step], torch.Tensor]:
    return lambda _, step: slope(step.operand(position), step.value)


def _quotient_slips(position: Position, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    def below(change: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
        return scaled(lambda d, s: change(d, s.operand(position)))

    yield fault("wrong-local", "the denominator is not squared", below(lambda d, x: d * x))
    yield fault("wrong-local", "the denominator is cubed, not squared", below(lambda d, x: d / x))
    yield fault("wrong-local", "the sign is wrong and the denominator not squared", below(lambda d, x: -d * x))
    yield fault("missing-local", "the numerator is left out", below(lambda d, x: -1 / x**2))
    yield fault("wrong-local", "it is differentiated as if it were a product", _as_product(position))
    yield fault("wrong-local", "the logarithm is the antiderivative", below(lambda d, x: x.abs().log()))


def _as_product(position: Position) -> Rule:
    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        (other,) = [step.operand(where) for where, _ in step.operands if where != position] or [torch.ones_like(g)]
        return g * other

    return rule


def _times_other(position: Position, other: Position) -> Rule:
    return lambda trace, step, g: unbroadcast(g * step.operand(other), step.operand(position).shape)


def _power_slips(step: Step, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    def power(change: Callable[[torch.Tensor, float], torch.Tensor]) -> Rule:
        return scaled(lambda d, s: change(s.operand((0,)), s.args[1]))

    k = f"{step.args[1]:g}"
    yield fault("missing-local", f"the {k} that the power brings down is left out", power(lambda x, n: x ** (n - 1)))
    says = f"only the {k} of the power is there, not what it multiplies"
    yield fault("missing-local", says, power(lambda x, n: n + 0 * x))
    yield fault("wrong-local", "the exponent is not lowered", power(lambda x, n: n * x**n))
    yield fault("wrong-local", "the exponent is raised instead of lowered", power(lambda x, n: n * x ** (n + 1)))
    yield fault("wrong-local", "the exponent is lowered twice", power(lambda x, n: n * x ** (n - 2)))
    yield fault("wrong-local", "the new exponent came down, not the old", power(lambda x, n: (n - 1) * x ** (n - 1)))
    yield fault("wrong-local", "this belongs to the next higher power", power(lambda x, n: (n + 1) * x**n))
    says = f"the {k} that the power brings down is raised to the new power as well"
    yield fault("wrong-local", says, power(lambda x, n: (n * x) ** (n - 1)))
    yield from _without_brackets(fault)
    says = f"the {k} that the power brings down is there twice"
    yield fault("extra-factor", says, power(lambda x, n: n * n * x ** (n - 1)))
    yield fault("wrong-local", "this belongs to the absolute value, not to a power", power(lambda x, n: x.sign()))
    says = "the sign of what the power multiplies is lost"
    yield fault("wrong-local", says, power(lambda x, n: n * x.abs() ** (n - 1)))
    says = "only the sign is left of what the power multiplies"
    yield fault("wrong-local", says, power(lambda x, n: n * x.sign()))
    yield fault("wrong-local", "this is the antiderivative", power(lambda x, n: x ** (n + 1) / (n + 1)))


def _without_brackets(fault: Make) -> Iterator[Fault]:
    """`n * x ** n - 1 * g`: a power is taken before anything is subtracted."""
    says = "the exponent that is one lower needs brackets: a power is taken before 1 is subtracted"
    ways: tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], ...] = (
        lambda power, g: power - g, lambda power, g: power * g - 1, lambda power, g: (power - 1) * g,
    )  # fmt: skip
    for way in ways:
        yield fault("wrong-local", says, _power_and_upstream(way))


def _power_and_upstream(way: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
    return lambda trace, step, g: way(step.args[1] * step.value, g)


def _range_slips(step: Step, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    """A clamp's mask that looks at one of its two edges only."""
    if not all(isinstance(edge, (int, float)) for edge in _edges(step)):
        return

    says = "only the lower edge is looked at: entries above the upper one pass"
    yield fault("wrong-local", says, scaled(lambda d, s: torch.heaviside(s.operand((0,)) - _edges(s)[0], d)))
    says = "only the upper edge is looked at: entries below the lower one pass"
    yield fault("wrong-local", says, scaled(lambda d, s: torch.heaviside(_edges(s)[1] - s.operand((0,)), d)))


def _edges(step: Step) -> tuple[Any, Any]:
    """The lower and the upper edge of a clamp, `None` where there is none."""
    low, high, *_ = (*step.args[1:], None, None)
    return step.kwargs.get("min", low), step.kwargs.get("max", high)
