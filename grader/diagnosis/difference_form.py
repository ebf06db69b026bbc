"""Losses whose gradient is a difference of two values, such as belief less truth, and the slips that form invites.

Whoever knows the form does not go through the operations of the forward pass, so their slips are none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from grader.reference.trace import Step, Trace

from .detours import Sweep
from .fault import name_of

EXACT = 1e-9
LEAST = 2
NOTHING = "0"
Slip = tuple[str, str, Sweep]
Function = Callable[[torch.Tensor], torch.Tensor]

# Functions that may stand in each other's place.
KIN: tuple[tuple[str, Function], ...] = (
    ("sigmoid", torch.sigmoid),
    ("tanh", torch.tanh),
    ("exp", torch.exp),
    ("a softmax along the last axis", lambda x: x.softmax(-1)),
    ("a softmax along the first axis", lambda x: x.softmax(0)),
    ("a log-softmax", lambda x: x.log_softmax(-1)),
)


@dataclass(frozen=True)
class Belief:
    """A value that depends on the variable.

    Args:
        value: shaped like the variable.
        name: what a learner calls it.
        made: the function of the variable that gives it, if it is a plain one.
        function: what a learner calls that.
    """

    value: torch.Tensor
    name: str
    made: Function | None = None
    function: str = ""


@dataclass(frozen=True)
class Truth:
    """An input that the belief is compared with.

    Args:
        value: shaped like the variable; where the input is whole numbers, their one-hot.
        name: what a learner calls it.
        numbers: the whole numbers, with an axis of size 1 at the end.
    """

    value: torch.Tensor
    name: str
    numbers: torch.Tensor | None = None


@dataclass(frozen=True)
class Difference:
    """The right gradient of one trial: `factor * (p - t)`; `x` is the variable."""

    factor: float
    x: torch.Tensor
    belief: Belief
    truth: Truth

    @property
    def p(self) -> torch.Tensor:
        return self.belief.value

    @property
    def t(self) -> torch.Tensor:
        return self.truth.value

    @property
    def decided(self) -> torch.Tensor:
        """The belief as a decision: 1 where it is the largest of its row, or above one half."""
        chosen = self.p > 0.5 if self.truth.numbers is None else self.p == self.p.amax(-1, keepdim=True)
        return chosen.to(self.p.dtype)

    @property
    def numbers(self) -> torch.Tensor:
        assert self.truth.numbers is not None
        return self.truth.numbers

    def made(self, x: torch.Tensor) -> torch.Tensor:
        assert self.belief.made is not None
        return self.belief.made(x)

    def through(self, g: torch.Tensor) -> torch.Tensor:
        """`g` taken back through the function that gives the belief."""
        leaf = self.x.detach().clone().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad((self.made(leaf) * g).sum(), leaf)
        return gradient


Change = Callable[[Difference], torch.Tensor]
Slips = tuple[tuple[str, str, Change], ...]

ALWAYS: Slips = (
    ("wrong-sign", "{truth} is added where it must be subtracted", lambda d: d.p + d.t),
    ("wrong-local", "the difference of {belief} and {truth} is squared", lambda d: (d.p - d.t) ** 2),
    ("wrong-local", "the difference of {belief} and {truth} has lost its sign", lambda d: (d.p - d.t).abs()),
    ("wrong-local", "only the sign of the difference of {belief} and {truth} is left", lambda d: (d.p - d.t).sign()),
    ("extra-factor", "the difference is multiplied by {belief} once more", lambda d: d.p * (d.p - d.t)),
    ("wrong-local", "1 is subtracted from every entry, where only {truth} belongs", lambda d: d.p - 1),
    ("missing-local", "the factor in front multiplies {belief} alone, not {truth}", lambda d: d.p - d.t / d.factor),
    ("missing-local", "the factor in front multiplies {truth} alone, not {belief}", lambda d: d.p / d.factor - d.t),
    ("wrong-operand", "1 less {truth} stands where {truth} belongs", lambda d: d.p - (1 - d.t)),
    ("wrong-local", "{belief} is made a decision, 0 or 1, before {truth} is subtracted", lambda d: d.decided - d.t),
)
WHERE_MADE: Slips = (
    ("wrong-point", "{variable} stands where {belief} belongs", lambda d: d.x - d.t),
    ("wrong-point", "{function} is taken twice", lambda d: d.made(d.p) - d.t),
    ("wrong-operand", "{function} is taken of {truth}, too", lambda d: d.p - d.made(d.t)),
    ("extra-factor", "{function} is differentiated once more: {belief} less {truth} is what comes out of it already",
     lambda d: d.through(d.p - d.t)),
    ("wrong-local", "this is the gradient of a squared error behind {function}", lambda d: d.through(2 * (d.p - d.t))),
)  # fmt: skip
WHERE_ONE_HOT: Slips = (
    ("diagonal-only", "only the entries that {truth} marks have a gradient", lambda d: d.t * (d.p - d.t)),
    ("broadcast-accident", "the marks of all rows are there in every row", lambda d: d.p - d.t.amax(0)),
    ("wrong-operand", "the numbers themselves, not {truth}, are subtracted from their rows", lambda d: d.p - d.numbers),
    ("wrong-operand", "1 is subtracted where {belief} is largest, not where {truth} is 1", lambda d: d.p - d.decided),
    ("missing-local", "this is how the loss reacts to {belief}, not to {variable}", lambda d: -d.t / d.p),
    ("forward-value", "this is what each row adds to the loss, no gradient", lambda d: -d.t * d.p.log()),
)  # fmt: skip


def difference_slips(trace: Trace, wrt: str) -> Iterator[Slip]:
    """Code, clause, and the gradient with respect to `wrt`; nothing where the right gradient is no such difference."""
    form = _form(trace, wrt)
    if form is None:
        return
    belief, truth = _beliefs(trace, wrt)[form[0]], _truths(trace, wrt)[form[1]]
    known = {"belief": belief.name, "truth": truth.name, "function": belief.function, "variable": wrt}
    made, one_hot, alone = belief.made is not None, truth.numbers is not None, form[0] == NOTHING
    for code, says, change in (*ALWAYS, *(WHERE_MADE if made else ()), *(WHERE_ONE_HOT if one_hot else ())):
        if not (alone and "{belief}" in says):
            yield code, says.format(**known), _sweep(wrt, form, change)
    for name, function in KIN if made or alone else ():
        instead = (
            f"is there as well, where only {truth.name} belongs" if alone else f"stands where {belief.name} belongs"
        )
        yield "wrong-local", f"{name} of {wrt} {instead}", _sweep(wrt, form, _with(function))


def _with(function: Function) -> Change:
    return lambda d: function(d.x) - d.t


def _sweep(wrt: str, form: tuple[str, str], change: Change) -> Sweep:
    def sweep(trace: Trace) -> torch.Tensor:
        found = _difference(trace, wrt, *form)
        if found is None:
            raise ValueError("the gradient is no such difference in this trial")
        gradient = found.factor * change(found)
        if not bool(gradient.isfinite().all()):
            raise ValueError("this slip gives no numbers in this trial")
        return gradient

    return sweep


def _form(trace: Trace, wrt: str) -> tuple[str, str] | None:
    """The keys of the two values whose difference the gradient is made of, if there are any."""
    if trace.inputs[wrt].numel() < LEAST:
        return None
    pairs = ((belief, truth) for belief in _beliefs(trace, wrt) for truth in _truths(trace, wrt))
    return next((pair for pair in pairs if _difference(trace, wrt, *pair) is not None), None)


def _difference(trace: Trace, wrt: str, belief: str, truth: str) -> Difference | None:
    p, t = _beliefs(trace, wrt)[belief], _truths(trace, wrt)[truth]
    right, difference = trace.backward(wrt), p.value - t.value
    size = float((difference**2).sum())
    factor = float((right * difference).sum()) / size if size else 0.0
    if not factor or float((right - factor * difference).abs().max()) > EXACT * float(right.abs().max()):
        return None
    return Difference(factor, trace.inputs[wrt], p, t)


def _truths(trace: Trace, wrt: str) -> dict[str, Truth]:
    """Every other input that can be shaped like `wrt`, or point to one place in each of its rows."""
    variable, found = trace.inputs[wrt], {}
    for name, value in trace.inputs.items():
        if name != wrt and value.is_floating_point() and _alike(value, variable):
            found[name] = Truth(value.reshape(variable.shape), name)
        elif value.dtype == torch.int64 and value.shape == variable.shape[:-1]:
            marks = torch.zeros_like(variable).scatter(-1, value.unsqueeze(-1), 1.0)
            found[name] = Truth(marks, f"the one-hot of {name}", value.unsqueeze(-1))
    return found


def _beliefs(trace: Trace, wrt: str) -> dict[str, Belief]:
    """Every value that depends on `wrt` and can be shaped like it, the shares behind a logsumexp, and zero."""
    variable, relevant = trace.inputs[wrt], trace.depends(wrt)
    found = {wrt: Belief(variable, wrt)}
    for step in trace.steps:
        if step.key not in relevant or not step.operands:
            continue
        (position, source), *others = step.operands
        if step.name == "logsumexp" and source == wrt:
            found["shares"] = Belief(variable.softmax(-1), f"the softmax of {wrt}", _softmax, "softmax")
        elif _alike(step.value, variable) and step.key != trace.out:
            plain = source == wrt and not others and step.operand(position).shape == variable.shape == step.value.shape
            value, name = step.value.reshape(variable.shape), name_of(trace, step.key)
            found[step.key] = Belief(value, name, _again(step) if plain else None, f"`{step.label}`")
    return {**found, NOTHING: Belief(torch.zeros_like(variable), NOTHING)}


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


def _again(step: Step) -> Function:
    ((position, _),) = step.operands
    return lambda x: step.apply({position: x})


def _alike(value: torch.Tensor, variable: torch.Tensor) -> bool:
    """The same shape but for axes of size 1."""
    return [size for size in value.shape if size != 1] == [size for size in variable.shape if size != 1]
