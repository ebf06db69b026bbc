"""Losses whose gradient is a difference of two values, such as belief less truth, and the slips that form invites.

Whoever knows the form does not go through the operations of the forward pass, so their slips are none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from grader.reference.trace import Step, Trace

from .operator import Kind, Operator, Parameters, step_name, value_name

EXACT = 1e-9
LEAST = 2
NOTHING = "0"
Function = Callable[[torch.Tensor], torch.Tensor]

# Functions that may be taken for one another.
KIN: Mapping[str, Function] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "softmax along the last axis": lambda x: x.softmax(-1),
    "softmax along the first axis": lambda x: x.softmax(0),
    "log-softmax": lambda x: x.log_softmax(-1),
}


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


def _slip(name: str, code: str, change: Change) -> Operator:
    """A wrong difference in the place of the right one; takes its form, the keys of the belief and the truth."""
    return Operator(name, code, lambda trace, wrt, form: _changed(trace, wrt, form, change), kind=Kind.SWEEP)


ALWAYS = (
    _slip("truth-added", "wrong-sign", lambda d: d.p + d.t),
    _slip("difference-of-loss-squared", "wrong-local", lambda d: (d.p - d.t) ** 2),
    _slip("difference-without-sign", "wrong-local", lambda d: (d.p - d.t).abs()),
    _slip("only-sign-of-difference", "wrong-local", lambda d: (d.p - d.t).sign()),
    _slip("times-belief", "extra-factor", lambda d: d.p * (d.p - d.t)),
    _slip("one-subtracted-everywhere", "wrong-local", lambda d: d.p - 1),
    _slip("factor-on-belief-only", "missing-local", lambda d: d.p - d.t / d.factor),
    _slip("factor-on-truth-only", "missing-local", lambda d: d.p / d.factor - d.t),
    _slip("truth-complemented", "wrong-operand", lambda d: d.p - (1 - d.t)),
    _slip("belief-decided", "wrong-local", lambda d: d.decided - d.t),
)
WHERE_MADE = (
    _slip("variable-for-belief", "wrong-point", lambda d: d.x - d.t),
    _slip("function-twice", "wrong-point", lambda d: d.made(d.p) - d.t),
    _slip("function-of-truth", "wrong-operand", lambda d: d.p - d.made(d.t)),
    _slip("function-differentiated-too", "extra-factor", lambda d: d.through(d.p - d.t)),
    _slip("squared-error-behind-function", "wrong-local", lambda d: d.through(2 * (d.p - d.t))),
)
WHERE_ONE_HOT = (
    _slip("only-marked-entries", "diagonal-only", lambda d: d.t * (d.p - d.t)),
    _slip("marks-of-all-rows", "broadcast-accident", lambda d: d.p - d.t.amax(0)),
    _slip("numbers-for-marks", "wrong-operand", lambda d: d.p - d.numbers),
    _slip("largest-for-marked", "wrong-operand", lambda d: d.p - d.decided),
    _slip("gradient-of-belief", "missing-local", lambda d: -d.t / d.p),
    _slip("loss-of-each-row", "forward-value", lambda d: -d.t * d.p.log()),
)
OF_KIN = {
    name: Operator(
        "another-function-of-variable",
        "wrong-local",
        lambda trace, wrt, form, name: _changed(trace, wrt, form, lambda d: KIN[name](d.x) - d.t),
        kind=Kind.SWEEP,
    )
    for name in KIN
}
DIFFERENCES = (*ALWAYS, *WHERE_MADE, *WHERE_ONE_HOT, *OF_KIN.values())  # fmt: skip
WITHOUT_BELIEF = {"difference-of-loss-squared", "difference-without-sign", "only-sign-of-difference", "times-belief",
                  "factor-on-belief-only", "factor-on-truth-only", "belief-decided", "variable-for-belief",
                  "function-differentiated-too", "largest-for-marked", "gradient-of-belief"}  # fmt: skip


def difference_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Operator, parameters, what is told; nothing where the right gradient is no such difference."""
    form = _form(trace, wrt)
    if form is None:
        return
    belief, truth = _beliefs(trace, wrt)[form[0]], _truths(trace, wrt)[form[1]]
    told = {"belief": belief.name, "truth": truth.name, "function": belief.function, "variable": wrt}
    made, one_hot, alone = belief.made is not None, truth.numbers is not None, form[0] == NOTHING
    for operator in (*ALWAYS, *(WHERE_MADE if made else ()), *(WHERE_ONE_HOT if one_hot else ())):
        if not (alone and operator.name in WITHOUT_BELIEF):
            yield operator, {"form": form}, told
    for name, operator in OF_KIN.items() if made or alone else ():
        yield operator, {"form": form, "name": name}, {"there": name, **told}


def _changed(trace: Trace, wrt: str, form: tuple[str, str], change: Change) -> torch.Tensor:
    found = _difference(trace, wrt, *form)
    if found is None:
        raise ValueError("the gradient is no such difference in this trial")
    gradient = found.factor * change(found)
    if not bool(gradient.isfinite().all()):
        raise ValueError("this slip gives no numbers in this trial")
    return gradient


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
            found[name] = Truth(marks, f"one_hot({name})", value.unsqueeze(-1))
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
            found["shares"] = Belief(variable.softmax(-1), f"softmax({wrt})", _softmax, "`softmax`")
        elif _alike(step.value, variable) and step.key != trace.out:
            plain = source == wrt and not others and step.operand(position).shape == variable.shape == step.value.shape
            value, name = step.value.reshape(variable.shape), value_name(trace, step.key)
            found[step.key] = Belief(value, name, _again(step) if plain else None, step_name(step))
    return {**found, NOTHING: Belief(torch.zeros_like(variable), NOTHING)}


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


def _again(step: Step) -> Function:
    ((position, _),) = step.operands
    return lambda x: step.apply({position: x})


def _alike(value: torch.Tensor, variable: torch.Tensor) -> bool:
    """The same shape but for axes of size 1."""
    return [size for size in value.shape if size != 1] == [size for size in variable.shape if size != 1]
