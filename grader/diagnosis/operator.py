"""Edits of a backward pass: an operator, the place where it works, and its parameters.

Every table of operators is made of these. An edit is looked up anew in each trial's own trace, so that it can be made
in every turn of a loop, however many there are; and several edits can be made in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import torch

from grader.reference.edges import Uses
from grader.reference.operand_view import At
from grader.reference.operations import sole_axis
from grader.reference.trace import Line, Place, Position, Rule, Rules, Step, Trace
from grader.reference.trial import Vague

Parameters = Mapping[str, Any]
Changes = Mapping[int, Callable[[Step], Step]]  # what becomes of some steps of the forward pass, by their index


class Kind(Enum):
    """What an operator works on, and what its rule returns."""

    OPERAND = "the contribution of a step to one of its operands"
    UPSTREAM = "the upstream gradient of a step"
    EDGES = "the uses of a value that carry nothing"
    RULES = "the contributions of several steps"
    FORWARD = "steps of the forward pass"
    INPUTS = "the inputs of the forward pass"
    SWEEP = "the whole gradient, by a way of its own"
    END = "the right answer"


def one_of(name: str, values: Iterable[Any]) -> Callable[[Any], Iterable[Parameters]]:
    """Each of these values for one parameter, wherever it is."""
    return lambda _: ({name: value} for value in values)


def as_chosen(_: Any, **chosen: Any) -> Parameters:
    """The words speak of the parameters as they are."""
    return chosen


@dataclass(frozen=True)
class Operator:
    """One way to go wrong, an entry in a table.

    Args:
        name: its words stand under it in `words.yaml`.
        code: the mistake's public code.
        rule: what is computed instead; takes an `At` (or an `End`, a `Trace` with a spot or more) and the parameters.
        when: where it can be; takes an `At` (or an `End`, a `Trace`).
        each: every choice of parameters there.
        tell: what else its words speak of; takes the parameters, too.
    """

    name: str
    code: str
    rule: Callable[..., Any]
    when: Callable[[Any], bool] = lambda _: True
    each: Callable[[Any], Iterable[Parameters]] = lambda _: ({},)
    tell: Callable[..., Parameters] = lambda _, **__: {}
    kind: Kind = Kind.OPERAND


@dataclass(frozen=True)
class Spot:
    """A place in any trial's trace.

    Args:
        line: a line of the forward pass.
        turns: which of the steps that it takes, as the bounds of a slice; every one of them by default.
        position: an operand of these steps.
    """

    line: Line
    turns: tuple[int | None, int | None] = (None, None)
    position: Position | None = None

    def steps(self, trace: Trace) -> list[int]:
        """The steps of a trace that are meant.

        Raises:
            ValueError: there are none.
        """
        found = trace.turns.get(self.line, [])[slice(*self.turns)]
        if not found:
            raise ValueError("the forward pass takes no such step at these sizes")
        return list(found)


class Way(Enum):
    """What another step of the forward pass changes."""

    BOTH = "both"  # what follows, and the way back
    FORWARD = "forward"  # what follows; the way back is that of the right step
    BACK = "back"  # the way back alone


PARTNER_WRONG = {("missing-local", Way.BOTH), ("missing-local", Way.BACK), ("wrong-point", Way.BACK)}


@dataclass(frozen=True, eq=False)
class Edit:
    """An operator at its place, with its parameters.

    Args:
        told: what its words speak of.
        at: the places that it is made at in the first trial's trace.
        way: of another step of the forward pass, what it changes.
        aside: that step is not on the way back: the value of a partner is made from it.
    """

    operator: Operator
    spot: Spot | None = None
    parameters: Parameters = field(default_factory=dict)
    told: Parameters = field(default_factory=dict)
    at: tuple[Place, ...] = ()
    way: Way = Way.BOTH
    aside: bool = False

    @property
    def code(self) -> str:
        """The operator's; a value that is wrong on the way forward alone, or a partner's, leaves no derivative out."""
        code = self.operator.code
        if self.aside and (code, self.way) in PARTNER_WRONG:
            return "wrong-operand"
        return "wrong-point" if code == "missing-local" and self.way is Way.FORWARD else code


@dataclass(frozen=True)
class Pass:
    """A backward pass in one trial, with edits made in it.

    Args:
        wrt: what is differentiated; empty where the value of the forward pass is meant.
        rules: what some steps of the sweep compute instead.
        skip: uses that carry nothing.
        sweep: what gives the gradient, where that is no plain sweep.
        guarded: the forward pass is another one, of whose gradient something must be left.
        run_again: and all that follows in it is what follows from the change.
    """

    trace: Trace
    wrt: str
    rules: Rules = field(default_factory=dict)
    skip: Uses = frozenset()
    sweep: Callable[[Trace, str], torch.Tensor] | None = None
    guarded: bool = False
    run_again: bool = False

    def result(self) -> torch.Tensor:
        """The gradient, or the value."""
        if not self.wrt:
            return self.trace.values()[self.trace.out]
        if self.sweep is not None:
            return self.sweep(self.trace, self.wrt)
        if self.run_again and not (self.rules or self.skip):
            found = self.trace.gradient(self.wrt)
        else:
            found = self.trace.backward(self.wrt, self.rules, self.skip)
        if self.guarded and not bool(found.any()):
            raise Vague("nothing is left of the gradient: zeros come from elsewhere, too")
        return found

    def edited(self, edit: Edit) -> Pass:
        """The same pass with one more edit."""
        operator, chosen = edit.operator, edit.parameters
        match operator.kind:
            case Kind.OPERAND | Kind.UPSTREAM:
                assert edit.spot is not None
                where = edit.spot.position if operator.kind is Kind.OPERAND else None
                rule = _as_rule(operator, where, chosen)
                return replace(self, rules={**self.rules, **{(i, where): rule for i in edit.spot.steps(self.trace)}})
            case Kind.EDGES:
                return replace(self, skip=self.skip | operator.rule(self.trace, edit.spot, **chosen))
            case Kind.RULES:
                return replace(self, rules={**self.rules, **operator.rule(self.trace, edit.spot, **chosen)})
            case Kind.FORWARD:
                return self._with_other_steps(operator.rule(self.trace, edit.spot, **chosen), edit.way)
            case Kind.INPUTS:
                other = self.trace.again(operator.rule(self.trace, **chosen))
                return replace(self, trace=replace(other, out_g=self.trace.out_g), guarded=True, run_again=True)
            case Kind.SWEEP:
                return replace(self, sweep=lambda trace, wrt: operator.rule(trace, wrt, **chosen))
            case Kind.END:
                return self

    def _with_other_steps(self, changes: Changes, way: Way) -> Pass:
        """Other steps of the forward pass: with their own way back, with that of the right ones, or that alone."""
        steps = self.trace.steps
        if way is Way.BACK and not self.trace.depends(self.wrt) & {steps[i].key for i in changes}:
            return replace(self, trace=self._with_other_partners(self.trace.with_steps(changes)))
        if way is Way.BACK:
            uses = [(i, where) for i in changes for where, _ in steps[i].operands]
            back: dict[Place, Rule] = {(i, where): _through_other(changes[i], where) for i, where in uses}
            return replace(self, rules={**self.rules, **back}, guarded=True)
        other = self.trace.with_steps(changes)
        if way is Way.BOTH:
            return replace(self, trace=other, guarded=True, run_again=True)
        mended = tuple(_as_before(a, b) for a, b in zip(steps, other.steps, strict=True))
        other = replace(other, steps=mended, memo={})
        by_value: dict[Place, Rule] = {
            (i, where): BY_VALUE[step.name]
            for i, step in ((i, other.steps[i]) for i in changes)
            for where, _ in step.operands
            if step.name in BY_VALUE
        }
        return replace(self, trace=other, rules={**self.rules, **by_value}, guarded=True, run_again=False)

    def _with_other_partners(self, other: Trace) -> Trace:
        """The right pass where the variable comes in, and another one in all that it meets on its way."""
        relevant, values = self.trace.depends(self.wrt), other.values()

        def meets(step: Step) -> Step:
            partners = {where: values[key] for where, key in step.sources if key not in relevant}
            if any(value.shape != step.operand(where).shape for where, value in partners.items()):
                raise ValueError("it meets a value of another shape")
            return step.with_operands(partners)

        steps = (meets(step) if step.key in relevant else step for step in self.trace.steps)
        return replace(self.trace, steps=tuple(steps), memo={})


LEAVES_NOTHING = {"missing-path", "partial-batch", "overwritten", "diagonal-only", "hard-coded"}
NOTHING = 1e-9


def _as_rule(operator: Operator, where: Position | None, chosen: Parameters) -> Rule:
    """The operator at one step.

    Where it leaves nothing of a contribution, as a sum of zeros does, it is no better name than the missing path.
    """

    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = operator.rule(At(trace, step, where, g), **chosen)
        if where is not None and operator.code not in LEAVES_NOTHING and found.numel():
            largest = float(found.abs().max())
            if largest <= NOTHING * float(g.abs().max()) and float(step.vjp(where, g).abs().max()) > largest / NOTHING:
                raise Vague("nothing is left of the contribution")
        return found

    return rule


def _through_other(change: Callable[[Step], Step], where: Position) -> Rule:
    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        other = change(step)
        return replace(other, value=other.apply({})).vjp(where, g)

    return rule


def _as_before(here: Step, there: Step) -> Step:
    """The operation of one step with the values of another."""
    if len(here.args) != len(there.args):
        return replace(here, value=there.value)
    both = zip(here.args, there.args, strict=True)
    args = tuple(value if isinstance(value, torch.Tensor) else constant for constant, value in both)
    tensors = {name: value for name, value in there.kwargs.items() if isinstance(value, torch.Tensor)}
    return replace(there, func=here.func, args=args, kwargs={**here.kwargs, **tensors})


def _softmax_by_value(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
    return step.value * (g - (step.value * g).sum(sole_axis(step), keepdim=True))


# What those compute who have the value at hand: it is wrong where the value is.
BY_VALUE: Mapping[str, Rule] = {
    "softmax": _softmax_by_value,
    "sigmoid": lambda trace, step, g: g * step.value * (1 - step.value),
    "tanh": lambda trace, step, g: g * (1 - step.value**2),
    "exp": lambda trace, step, g: g * step.value,
    "sqrt": lambda trace, step, g: g / (2 * step.value),
    "relu": lambda trace, step, g: g * (step.value > 0),
}
