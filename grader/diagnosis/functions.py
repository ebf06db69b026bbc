"""Slips in a function that takes several operations: left out as a whole, or its derivative taken as if it were one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader.reference.operand_view import At
from grader.reference.trace import Line, Place, Rule, Rules, Step, Trace

from .operator import Kind, Operator, Parameters, Spot

MOST_OPERATIONS = 8


def through(trace: Trace, source: str, index: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Rules:
    """A value gets what `change` makes of the gradient that arrives at a step, and nothing else on its way there."""
    inside, arrived = trace.reaches(trace.steps[index].key), [torch.empty(0)]
    value = trace.values()[source]

    def arrives(_: Trace, __: Step, g: torch.Tensor) -> torch.Tensor:
        arrived[0] = g
        return g

    uses = [use for use in trace.uses(source) if trace.steps[use[0]].key in inside]
    rules: dict[Place, Rule] = {(index, None): arrives}
    rules |= dict.fromkeys(uses, lambda _, step, g: torch.zeros_like(value))
    rules[uses[0]] = lambda _, step, g: change(arrived[0])
    return rules


def _between(trace: Trace, source: str, index: int) -> list[Step]:
    """The steps that make the value of a step from another value and what has nothing to do with that."""
    inside = (trace.reaches(trace.steps[index].key) & trace.depends(source)) - {source}
    steps = [step for step in trace.steps[: index + 1] if step.key in inside]
    closed = all(key in inside for step in steps[:-1] for key in (trace.steps[i].key for i, _ in trace.uses(step.key)))
    own = trace.reaches(source)
    alone = not any(
        own & trace.reaches(key) for step in steps for _, key in step.operands if key not in {source, *inside}
    )
    return steps if closed and alone and 2 <= len(steps) <= MOST_OPERATIONS else []


def _sources(at: At) -> Iterator[Parameters]:
    """The values of its shape that the value of a step is a function of, by several operations: the nearest first."""
    values = at.trace.values() if at.step.operands and len(at.trace.turns[at.step.line]) == 1 else {}
    reached = at.trace.reaches(at.step.key) - {at.step.key} if values else set()
    for key in (key for key in reversed(values) if key in reached and values[key].shape == at.y.shape):
        if _between(at.trace, key, at.step.index):
            yield {"source": at.trace.steps[int(key[1:])].line if key.startswith("%") else key}


def _key(trace: Trace, source: str | Line) -> str:
    return source if isinstance(source, str) else f"%{Spot(source).steps(trace)[-1]}"


def _value(steps: list[Step], source: str, x: torch.Tensor) -> torch.Tensor:
    """The function's value at another place."""
    values = {source: x}
    for step in steps:
        values[step.key] = step.apply({where: values[key] for where, key in step.operands})
    return values[steps[-1].key]


def _derivative(steps: list[Step], source: str, x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """The contribution of the function, its derivative taken at another place."""
    leaf = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        (found,) = torch.autograd.grad(_value(steps, source, leaf), leaf, g)
    return found


def _function(name: str, code: str, change: Callable[..., torch.Tensor]) -> Operator:
    """Something else for its derivative, from its steps, its source, its value and the gradient that arrives."""

    def rule(trace: Trace, spot: Spot, source: str | Line) -> Rules:
        rules: dict[Place, Rule] = {}
        for index in spot.steps(trace):
            key = _key(trace, source)
            if not (steps := _between(trace, key, index)):
                raise ValueError("this is no function of that value in this trial")
            y = trace.steps[index].value
            rules |= through(trace, key, index, lambda g, steps=steps, key=key, y=y: change(steps, key, y, g))  # type: ignore[misc]
        return rules

    def tell(at: At, source: str | Line) -> dict[str, Any]:
        return {"value": at.named(at.step.key), "operand": at.named(_key(at.trace, source))}

    return Operator(name, code, rule, each=_sources, tell=tell, kind=Kind.RULES)


FUNCTIONS = (
    _function("function-left-out", "missing-local", lambda steps, source, y, g: g),
    _function("value-of-function", "wrong-local", lambda steps, source, y, g: g * y),
    _function("function-at-own-value", "wrong-point", lambda steps, source, y, g: _derivative(steps, source, y, g)),
    _function("function-of-its-gradient", "wrong-local", lambda steps, source, y, g: _value(steps, source, g)),
)
