"""Losses whose gradient is a difference of two values, such as belief less truth: which two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .operand_view import At
from .operations import step_name
from .trace import Trace

EXACT = 1e-9
NOTHING = "0"

Function = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Value:
    """What the gradient may be a difference of: a belief, which depends on the variable, and the truth, an input."""

    value: torch.Tensor  # shaped like the variable; of whole numbers, their one-hot
    name: str  # what a learner calls it
    made: Function | None = None  # the function of the variable that gives it, if it is a plain one
    function: str = ""  # what a learner calls that
    numbers: torch.Tensor | None = None  # the whole numbers, with an axis of size 1 at the end


@dataclass(frozen=True)
class Difference:
    """The right gradient of one trial: `factor * (p - t)`, of belief and truth; `x` is the variable."""

    factor: float
    x: torch.Tensor
    p: torch.Tensor
    t: torch.Tensor
    made: Any  # the function that gives the belief, where that is known
    numbers: Any  # the truth as whole numbers, where it is given so

    @property
    def decided(self) -> torch.Tensor:
        """The belief as a decision: 1 where it is the largest of its row, or above one half."""
        chosen = self.p > 0.5 if self.numbers is None else self.p == self.p.amax(-1, keepdim=True)
        return chosen.to(self.p.dtype)

    def through(self, g: torch.Tensor) -> torch.Tensor:
        """`g` taken back through the function that gives the belief."""
        leaf = self.x.detach().clone().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad((self.made(leaf) * g).sum(), leaf)
        return gradient


def difference_of(trace: Trace, wrt: str, belief: Value, truth: Value) -> Difference | None:
    """The right gradient as a difference of these two, if it is one."""
    right, difference = trace.backward(wrt), belief.value - truth.value
    size = float((difference**2).sum())
    factor = float((right * difference).sum()) / size if size else 0.0
    if not factor or float((right - factor * difference).abs().max()) > EXACT * float(right.abs().max()):
        return None
    return Difference(factor, trace.inputs[wrt], belief.value, truth.value, belief.made, truth.numbers)


def truths_of(trace: Trace, wrt: str) -> dict[str, Value]:
    """Every other input that can be shaped like `wrt`, or point to one place in each of its rows."""
    variable, found = trace.inputs[wrt], {}
    for name, value in trace.inputs.items():
        if name != wrt and value.is_floating_point() and alike(value, variable):
            found[name] = Value(value.reshape(variable.shape), name)
        elif value.dtype == torch.int64 and value.shape == variable.shape[:-1]:
            marks = torch.zeros_like(variable).scatter(-1, value.unsqueeze(-1), 1.0)
            found[name] = Value(marks, f"one_hot({name})", numbers=value.unsqueeze(-1))
    return found


def beliefs_of(trace: Trace, wrt: str) -> dict[str, Value]:
    """Every value that depends on `wrt` and can be shaped like it, the shares behind a logsumexp, and zero."""
    variable, found = trace.inputs[wrt], {wrt: Value(trace.inputs[wrt], wrt)}
    for at in (At(trace, step) for step in trace.steps if step.key in trace.depends(wrt) and step.operands):
        if at.name == "logsumexp" and at.source == wrt:
            found["shares"] = Value(variable.softmax(-1), f"softmax({wrt})", lambda x: x.softmax(-1), "`softmax`")
        elif alike(at.y, variable) and not at.is_last:
            plain = at.source == wrt and not at.others and at.x.shape == variable.shape == at.y.shape
            made = (lambda x, at=at: at.step.apply({at.where: x})) if plain else None
            found[at.step.key] = Value(at.y.reshape(variable.shape), at.named(at.step.key), made, step_name(at.step))
    return {**found, NOTHING: Value(torch.zeros_like(variable), NOTHING)}


def alike(value: torch.Tensor, variable: torch.Tensor) -> bool:
    """The same shape but for axes of size 1."""
    return [size for size in value.shape if size != 1] == [size for size in variable.shape if size != 1]
