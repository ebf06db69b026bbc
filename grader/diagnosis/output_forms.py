"""Derivatives that are written with a function's output, y (1 - y) for sigmoid, and the slips these invite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch

from grader.reference.trace import Position, Rule, Step, Trace

from .fault import Fault, Make, name_of, words
from .summing_faults import unbroadcast

Terms = tuple[torch.Tensor, ...]

# The derivative as a sum of terms, from the output y, which may stand in two places.
# (For 1 / x, -y**2 with x for y is the derivative taken at y.)
FORMS: Mapping[str, Callable[[torch.Tensor, torch.Tensor], Terms]] = {
    "sigmoid": lambda y, again: (y, -y * again),
    "tanh": lambda y, again: (torch.ones_like(y), -y * again),
    "exp": lambda y, again: (y,),
    "sqrt": lambda y, again: (0.5 / y,),
}


def output_form_faults(
    trace: Trace, step: Step, position: Position, fault: Make, *, upstream_given: bool
) -> Iterator[Fault]:
    """The right formula with another value in the output's place, or with its parts put together wrongly."""
    if step.name not in FORMS:
        return
    form, what = FORMS[step.name], words(step)
    for key, value in trace.values().items():
        if key == step.key or value.shape != step.value.shape:
            continue
        there = name_of(trace, key)
        says = f"the derivative of {what} is written for its output, but {there} stands in the output's place"
        yield fault("wrong-point", says, _at(position, key))
        if len(form(value, value)) == 2:
            says = f"in the derivative of {what}, {there} stands in one of the two places of the output"
            yield fault("wrong-point", says, _at(position, key, step.key))
            yield fault("wrong-point", says, _at(position, step.key, key))
    if len(form(step.value, step.value)) != 2:
        return
    says = f"the second part of the slope of {what} has the wrong sign"
    yield fault("wrong-sign", says, _parts(position, lambda g, first, second: g * (first - second)))
    if upstream_given and step.key == trace.out:
        says = f"out.g multiplies only one part of the slope of {what}: a pair of parentheses is missing"
        yield fault("missing-upstream", says, _parts(position, lambda g, first, second: g * first + second))
        yield fault("missing-upstream", says, _parts(position, lambda g, first, second: first + g * second))
        says = "out and out.g have changed places"
        yield fault("wrong-operand", says, lambda trace, step, g: step.value * _sum(form(g, g)))


def _at(position: Position, key: str, again: str = "") -> Rule:
    """The derivative with the value `key` in the output's place; where that stands again, maybe another one."""

    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        first, second = (trace.values()[name] for name in (key, again or key))
        if not first.shape == second.shape == step.value.shape:
            raise ValueError("the values have different shapes in this trial")
        return unbroadcast(g * _sum(FORMS[step.name](first, second)), step.operand(position).shape)

    return rule


def _parts(position: Position, change: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
    """Upstream and the two terms of the derivative, put together by `change`."""

    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        first, second = FORMS[step.name](step.value, step.value)
        return unbroadcast(change(g, first, second), step.operand(position).shape)

    return rule


def _sum(terms: Terms) -> torch.Tensor:
    return torch.stack(terms).sum(0)
