"""Losses whose gradient is a difference of two values, such as belief less truth, and the slips that form invites.

Whoever knows the form does not go through the operations of the forward pass, so their slips are none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.reference.operand_view import At
from grader.reference.operations import step_name
from grader.reference.trace import Trace

from .operator import Kind, Operator, Parameters

EXACT = 1e-9
LEAST = 2
NOTHING = "0"
Function = Callable[[torch.Tensor], torch.Tensor]

# Functions that may be taken for one another.
KIN: Mapping[str, Function] = {
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp,
    "softmax along the last axis": lambda x: x.softmax(-1), "softmax along the first axis": lambda x: x.softmax(0),
    "log-softmax": lambda x: x.log_softmax(-1),
}  # fmt: skip


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


def _slip(name: str, code: str, change: Callable[..., torch.Tensor]) -> Operator:
    """A wrong difference in the place of the right one; takes its form, the keys of the belief and the truth."""

    def rule(trace: Trace, wrt: str, form: tuple[str, str], **chosen: Any) -> torch.Tensor:
        found = _difference(trace, wrt, _beliefs(trace, wrt)[form[0]], _truths(trace, wrt)[form[1]])
        if found is None:
            raise ValueError("the gradient is no such difference in this trial")
        gradient = found.factor * change(found, **chosen)
        if not bool(gradient.isfinite().all()):
            raise ValueError("this slip gives no numbers in this trial")
        return gradient

    return Operator(name, code, rule, kind=Kind.SWEEP)


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
OF_KIN, BESIDE_TRUTH = (
    _slip(name, "wrong-local", lambda d, name: KIN[name](d.x) - d.t)
    for name in ("another-function-of-variable", "function-beside-truth")
)
WITHOUT_BELIEF = {"difference-of-loss-squared", "difference-without-sign", "only-sign-of-difference", "times-belief",
                  "factor-on-belief-only", "factor-on-truth-only", "belief-decided", "variable-for-belief",
                  "function-differentiated-too", "largest-for-marked", "gradient-of-belief"}  # fmt: skip


def difference_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Operator, parameters, what is told; nothing where the right gradient is no such difference."""
    beliefs, truths = _beliefs(trace, wrt), _truths(trace, wrt)
    pairs = ((b, t) for b in beliefs for t in truths if _difference(trace, wrt, beliefs[b], truths[t]) is not None)
    form = next(pairs, None) if trace.inputs[wrt].numel() >= LEAST else None
    if form is None:
        return
    belief, truth = beliefs[form[0]], truths[form[1]]
    told = {"belief": belief.name, "truth": truth.name, "function": belief.function, "variable": wrt}
    made, one_hot, alone = belief.made is not None, truth.numbers is not None, form[0] == NOTHING
    for operator in (*ALWAYS, *(WHERE_MADE if made else ()), *(WHERE_ONE_HOT if one_hot else ())):
        if not (alone and operator.name in WITHOUT_BELIEF):
            yield operator, {"form": form}, told
    for name in KIN if made or alone else ():
        yield BESIDE_TRUTH if alone else OF_KIN, {"form": form, "name": name}, {"there": name, **told}


def _difference(trace: Trace, wrt: str, belief: Value, truth: Value) -> Difference | None:
    """The right gradient as a difference of these two, if it is one."""
    right, difference = trace.backward(wrt), belief.value - truth.value
    size = float((difference**2).sum())
    factor = float((right * difference).sum()) / size if size else 0.0
    if not factor or float((right - factor * difference).abs().max()) > EXACT * float(right.abs().max()):
        return None
    return Difference(factor, trace.inputs[wrt], belief.value, truth.value, belief.made, truth.numbers)


def _truths(trace: Trace, wrt: str) -> dict[str, Value]:
    """Every other input that can be shaped like `wrt`, or point to one place in each of its rows."""
    variable, found = trace.inputs[wrt], {}
    for name, value in trace.inputs.items():
        if name != wrt and value.is_floating_point() and _alike(value, variable):
            found[name] = Value(value.reshape(variable.shape), name)
        elif value.dtype == torch.int64 and value.shape == variable.shape[:-1]:
            marks = torch.zeros_like(variable).scatter(-1, value.unsqueeze(-1), 1.0)
            found[name] = Value(marks, f"one_hot({name})", numbers=value.unsqueeze(-1))
    return found


def _beliefs(trace: Trace, wrt: str) -> dict[str, Value]:
    """Every value that depends on `wrt` and can be shaped like it, the shares behind a logsumexp, and zero."""
    variable, found = trace.inputs[wrt], {wrt: Value(trace.inputs[wrt], wrt)}
    for at in (At(trace, step) for step in trace.steps if step.key in trace.depends(wrt) and step.operands):
        if at.name == "logsumexp" and at.source == wrt:
            found["shares"] = Value(variable.softmax(-1), f"softmax({wrt})", lambda x: x.softmax(-1), "`softmax`")
        elif _alike(at.y, variable) and not at.is_last:
            plain = at.source == wrt and not at.others and at.x.shape == variable.shape == at.y.shape
            made = (lambda x, at=at: at.step.apply({at.where: x})) if plain else None
            found[at.step.key] = Value(at.y.reshape(variable.shape), at.named(at.step.key), made, step_name(at.step))
    return {**found, NOTHING: Value(torch.zeros_like(variable), NOTHING)}


def _alike(value: torch.Tensor, variable: torch.Tensor) -> bool:
    """The same shape but for axes of size 1."""
    return [size for size in value.shape if size != 1] == [size for size in variable.shape if size != 1]
