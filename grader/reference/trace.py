"""The forward pass as a list of operations, each with its own vector-Jacobian product.

`recording` runs a forward pass once and notes every torch operation on its way; `Trace.backward` is the reverse
sweep over that list. The sweep can be handed wrong rules, so that a mistake can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch

from . import derivatives

Position = tuple[int | str, ...]
Place = tuple[int, Position | None]  # a step, and which of its operands, where it is about one
Use = tuple[int, Position]
Rule = Callable[["Trace", "Step", torch.Tensor], torch.Tensor]
Rules = Mapping[Place, Rule]
Line = tuple[object, ...]  # which operation of the forward pass's source: the calls that lead to it, and its name

MOST_ROWS = 400
SYMBOLS = {
    "matmul": "@", "mm": "@", "bmm": "@", "__matmul__": "@", "__rmatmul__": "@", "add": "+", "sub": "-",
    "__rsub__": "-", "mul": "*", "div": "/", "__rdiv__": "/", "__rtruediv__": "/", "neg": "-",
    "__getitem__": "[...]",
}  # fmt: skip


class Carried(NamedTuple):
    """What each turn of a loop takes from the turn before, and the first one from outside.

    Args:
        line: it takes that.
        where: as which operand.
        outside: the key of what the first turn takes.
        made: the key of what the first turn makes, and the second takes.
    """

    line: Line
    where: Position
    outside: str
    made: str


@dataclass(frozen=True)
class Step:
    """One operation of the forward pass.

    Args:
        index: its place in the trace; its value is known as `%index`.
        func: the torch function.
        args: its arguments, tensors included.
        kwargs: its keyword arguments.
        value: what it returned.
        sources: where in the arguments a value of the trace stands, and that value's key.
        operands: those of them that a gradient goes back to: floating-point values, where the step's own value is one
            (a mask is a constant to the reverse sweep).
        nth: its number among the steps that a learner would call the same, counted from 1; 0 where it is the only one.
        line: where in the source of the forward pass it comes from; the turns of a loop come from the same line.
    """

    index: int
    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    value: torch.Tensor
    operands: tuple[tuple[Position, str], ...]
    sources: tuple[tuple[Position, str], ...] = ()
    nth: int = 0
    line: Line = ()

    @cached_property
    def key(self) -> str:
        """The key of its value in a trace."""
        return f"%{self.index}"

    @cached_property
    def name(self) -> str:
        """The operation's torch name, such as `mean` or `matmul`."""
        if getattr(self.func, "__name__", "") == "__get__":
            return "transpose"
        return str(getattr(self.func, "__name__", self.func))

    @property
    def label(self) -> str:
        """The operation as a learner writes it, such as `@` or `mean`."""
        return SYMBOLS.get(self.name, self.name)

    @property
    def constants(self) -> dict[int, float]:
        """The plain numbers among its arguments, by their place."""
        return {i: arg for i, arg in enumerate(self.args) if isinstance(arg, (int, float)) and type(arg) is not bool}

    def operand(self, position: Position) -> torch.Tensor:
        """The tensor at `position` of the arguments."""
        value: Any = self.kwargs if isinstance(position[0], str) else self.args
        for i in position:
            value = value[i]
        if not isinstance(value, torch.Tensor):
            raise ValueError("another pass has no tensor there")
        return value

    def with_operands(self, replaced: Mapping[Position, torch.Tensor]) -> Step:
        """The step with some operands replaced, its value as it was."""
        if not replaced:
            return self
        kwargs = {name: with_replaced(value, replaced, (name,)) for name, value in self.kwargs.items()}
        return replace(self, args=with_replaced(self.args, replaced, ()), kwargs=kwargs)

    def apply(self, replaced: Mapping[Position, torch.Tensor]) -> torch.Tensor:
        """The operation run again with some operands replaced."""
        again = self.with_operands(replaced)
        result = self.func(*again.args, **again.kwargs)
        if not isinstance(result, torch.Tensor):
            raise TypeError("the operation gives no tensor")
        return result

    def vjp(
        self, position: Position, g: torch.Tensor, replaced: Mapping[Position, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The contribution to the operand at `position` of an upstream gradient `g`, shaped like the operand.

        `replaced` evaluates the derivative at other values.
        """
        if (part := self._by_hand(position, g, replaced or {})) is not None:
            return part
        if replaced:
            return vjp(*self._differentiable(position, replaced), g)
        again = position in self._graphs  # what is asked for once is not worth more than that
        slope = self._entrywise_derivative(position) if again and g.shape == self.value.shape else None
        return vjp(*self._graph(position), g) if slope is None else g * slope

    def _by_hand(
        self, position: Position, g: torch.Tensor, replaced: Mapping[Position, torch.Tensor]
    ) -> torch.Tensor | None:
        """The contribution by a rule that is written down; `None` where there is none."""
        if g.shape != self.value.shape:
            return None
        if any(value.shape != self.operand(at).shape for at, value in replaced.items()):
            return None
        args = with_replaced(self.args, replaced, ()) if replaced else self.args
        return derivatives.vjp(self.func, self.name, args, self.kwargs, position, g)

    def _entrywise_derivative(self, position: Position) -> torch.Tensor | None:
        """The derivative entry by entry, where each entry of the value depends on one of the operand's alone."""
        if position not in self._entrywise_derivatives:
            graph, some = self._graph(position), torch.linspace(1, 2, self.value.numel(), dtype=self.value.dtype)
            slope = None
            if self.operand(position).shape == self.value.shape:
                found, some = vjp(*graph, torch.ones_like(self.value)), some.view(self.value.shape)
                slope = found if torch.allclose(vjp(*graph, some), found * some, 1e-12, 0) else None
            self._entrywise_derivatives[position] = slope
        return self._entrywise_derivatives[position]

    @cached_property
    def _entrywise_derivatives(self) -> dict[Position, torch.Tensor | None]:
        return {}

    def _graph(self, position: Position) -> tuple[torch.Tensor, torch.Tensor]:
        """The operand and the value for autograd, at the recorded values: made once, as many sweeps come by."""
        if position not in self._graphs:
            self._graphs[position] = self._differentiable(position, {})
        return self._graphs[position]

    @cached_property
    def _graphs(self) -> dict[Position, tuple[torch.Tensor, torch.Tensor]]:
        return {}

    def _differentiable(
        self, position: Position, replaced: Mapping[Position, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        values = {where: self.operand(where) for where, _ in self.operands} | dict(replaced)
        leaf = values[position].detach().clone().requires_grad_()
        with torch.enable_grad():
            return leaf, self.apply({**values, position: leaf})


def vjp(leaf: torch.Tensor, value: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """The gradient of `(value * g).sum()` with respect to `leaf`."""
    if value.shape != g.shape:
        raise ValueError("the upstream gradient has another shape than the value")
    if not value.requires_grad:
        return torch.zeros_like(leaf)
    with torch.enable_grad():  # of a sum: to hand over `g` takes torch a third of a second once, to import sympy
        weighed = (value * g.to(value.dtype)).sum()
    (gradient,) = torch.autograd.grad(weighed, leaf, allow_unused=True, retain_graph=True)
    return torch.zeros_like(leaf) if gradient is None else gradient


@dataclass(frozen=True)
class Trace:
    """A recorded forward pass.

    Args:
        inputs: its differentiable and other tensor inputs by name.
        steps: its operations in order.
        out: the key of its output.
        out_g: the upstream gradient, shaped like the output.
        again: records the same forward pass with some inputs exchanged.
        output_name: what a learner calls its output.
        upstream_name: what a learner calls the upstream gradient; empty where none is given, and it is 1 everywhere.
        sizes: the sizes of the named axes.
        memo: what was worked out from this trace once and is kept.
        names: the values that the forward pass itself has names for, by key (see `exercise.InSteps`).
    """

    inputs: Mapping[str, torch.Tensor]
    steps: tuple[Step, ...]
    out: str
    out_g: torch.Tensor
    again: Callable[[Mapping[str, torch.Tensor]], Trace] = field(compare=False, repr=False)
    output_name: str = "out"
    upstream_name: str = "out.g"
    sizes: Mapping[str, int] = field(default_factory=dict, compare=False)
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def rows(self) -> tuple[Trace, ...]:
        """The same pass with 1 arriving at one entry of the output, 0 at the others: one for each row of a Jacobian."""
        basis = torch.eye(self.out_g.numel(), dtype=self.out_g.dtype)
        return tuple(replace(self, out_g=row.reshape(self.out_g.shape), memo={}) for row in basis)

    @cached_property
    def plan(self) -> tuple[object, ...]:
        """Which operations it takes of which values; what is known of one trace holds for another of the same plan."""
        return (self.out, *((step.name, step.operands) for step in self.steps))

    @cached_property
    def turns(self) -> dict[Line, list[int]]:
        """The steps that each line of the forward pass takes: one, or in a loop as many as it has turns.

        Steps that several calls of one function share, those of one operation wherever it stands, and those of one name
        through which a loop hands values on from turn to turn are there together, too.
        """
        found: dict[Line, list[int]] = {}
        for step in self.steps:
            found.setdefault(step.line, []).append(step.index)
        alike: dict[Line, list[int]] = {}
        for step in self.steps:
            for line in (("shared", *step.line[-3:]), ("alike", step.name, _constants(step))):
                alike.setdefault(line, []).append(step.index)
        for steps in found.values():
            if len(steps) > 1 and self.steps[steps[0]].key in self.reaches(self.steps[steps[1]].key):
                alike.setdefault(("carried", self.steps[steps[0]].name), []).extend(steps)
        known = set(map(tuple, found.values()))
        for line, steps in ((line, sorted(steps)) for line, steps in alike.items()):
            if len(steps) > 1 and tuple(steps) not in known:
                known.add(tuple(steps))
                found[line] = steps
        return found

    @cached_property
    def carried(self) -> list[Carried]:
        """What the loops of the forward pass hand on from turn to turn."""
        found = []
        for line, (first, second, *_) in ((line, turns) for line, turns in self.turns.items() if len(turns) > 1):
            later = dict(self.steps[second].operands)
            for where, key in self.steps[first].operands if line == self.steps[first].line else ():
                made = later.get(where, "")
                if made != key and made.startswith("%") and int(made[1:]) > first:
                    found.append(Carried(line, where, key, made))
        return found

    def values(self) -> dict[str, torch.Tensor]:
        """Every value of the forward pass by key: inputs by name, intermediates as `%index`."""
        return {**self.inputs, **{step.key: step.value for step in self.steps}}

    def with_steps(self, changes: Mapping[int, Callable[[Step], Step]]) -> Trace:
        """The forward pass run again with some steps changed, and all that follows from it."""
        others: dict[str, torch.Tensor] = {}  # the values that are others now
        steps: list[Step] = []
        for step in self.steps:
            again = step.with_operands({where: others[source] for where, source in step.sources if source in others})
            again = changes[step.index](again) if step.index in changes else again
            if again is not step:
                again = replace(again, value=again.apply({}))
                others[step.key] = again.value
            steps.append(again)
        return replace(self, steps=tuple(steps), memo={})

    def uses(self, key: str) -> list[Use]:
        """Where a value is used: step and position."""
        return [(step.index, where) for step in self.steps for where, source in step.operands if source == key]

    def depends(self, key: str) -> set[str]:
        """The keys of all values that depend on `key`, itself included."""
        if key not in self._dependents:
            found = {key}
            for step in self.steps:
                if any(source in found for _, source in step.operands):
                    found.add(step.key)
            self._dependents[key] = found
        return self._dependents[key]

    def reaches(self, key: str) -> set[str]:
        """The keys of all values that the value `key` was made from, itself included."""
        if key not in self._ancestors:
            found = {key}
            for step in reversed(self.steps):
                if step.key in found:
                    found.update(source for _, source in step.operands)
            self._ancestors[key] = found
        return self._ancestors[key]

    @cached_property
    def _dependents(self) -> dict[str, set[str]]:
        return {}

    @cached_property
    def _ancestors(self) -> dict[str, set[str]]:
        return {}

    def backward(self, wrt: str, rules: Rules | None = None, skip: frozenset[Use] = frozenset()) -> torch.Tensor:
        """The gradient of `(out * out_g).sum()` with respect to `wrt`, by a reverse sweep.

        Args:
            rules: what to compute instead of a step's contribution to an operand, or, for the operand `None`, instead
                of its upstream gradient; each takes the trace, the step and the step's upstream gradient.
            skip: uses that contribute nothing (step and position).
        """
        rules, base = rules or {}, skip if rules else frozenset()
        sweep = self._sweep(wrt, base)
        if not rules and not skip:
            return sweep[0].get(wrt, torch.zeros_like(self.inputs[wrt]))
        first, last = (end(step for step, _ in rules or skip) for end in (max, min))
        gradients = dict(sweep[first + 1])
        for step in reversed(self.steps[last : first + 1]):
            self._add_contributions(step, wrt, gradients, rules, skip)
        if not base and (found := self._by_jacobians(wrt, gradients, last)) is not None:
            return found
        for step in reversed(self.steps[:last]):
            self._add_contributions(step, wrt, gradients, rules, skip)
        return gradients.get(wrt, torch.zeros_like(self.inputs[wrt]))

    def _by_jacobians(self, wrt: str, gradients: Mapping[str, torch.Tensor], last: int) -> torch.Tensor | None:
        """What a sweep that is right before the step `last` ends in: what has changed there goes through Jacobians.

        `None` where the sweep has been asked for too seldom for these to be worth making.
        """
        sweep = self._sweep(wrt, frozenset())
        right, known = sweep[0].get(wrt), sweep[last]
        found = torch.zeros_like(self.inputs[wrt]) if right is None else right
        for key in dict.fromkeys((*gradients, *known)):
            gradient, before = gradients.get(key), known.get(key)
            if gradient is before or (key.startswith("%") and int(key[1:]) >= last):
                continue
            if gradient is not None and gradient.shape != self._shape(key):
                return None
            nothing = torch.zeros(self._shape(key), dtype=self.out_g.dtype)
            change = (nothing if gradient is None else gradient) - (nothing if before is None else before)
            jacobian = self._jacobian(key, wrt)
            if jacobian is None or not bool(change.isfinite().all()):
                return None
            found = found + (change.flatten() @ jacobian).view(found.shape)
        return found

    def _shape(self, key: str) -> torch.Size:
        return (self.steps[int(key[1:])].value if key.startswith("%") else self.inputs[key]).shape

    def _jacobian(self, key: str, wrt: str) -> torch.Tensor | None:
        """How the gradient of `wrt` follows that of a value; made once it has been asked for often.

        Shape: (entries of the value, entries of `wrt`).
        """
        asked, jacobian = self._jacobians.get((key, wrt), (0, None))
        size = self._shape(key).numel()
        if jacobian is None and size < asked and size <= MOST_ROWS:
            rows = [{key: row.view(self._shape(key))} for row in torch.eye(size, dtype=self.out_g.dtype)]
            for step in reversed(self.steps[: int(key[1:]) + 1 if key.startswith("%") else 0]):
                for gradients in rows:
                    self._add_contributions(step, wrt, gradients, {}, frozenset())
            nothing = torch.zeros_like(self.inputs[wrt])
            jacobian = torch.stack([gradients.get(wrt, nothing).flatten() for gradients in rows])
        self._jacobians[key, wrt] = asked + 1, jacobian
        return jacobian

    @cached_property
    def _jacobians(self) -> dict[tuple[str, str], tuple[int, torch.Tensor | None]]:
        return {}

    def gradients(self, wrt: str) -> dict[str, torch.Tensor]:
        """The right gradients of all values on the way back to `wrt`, by key."""
        return self._sweep(wrt, frozenset())[0]

    def gradient(self, wrt: str) -> torch.Tensor:
        """The right gradient of `wrt` by torch's own sweep: the way for a pass of which nothing else is asked."""
        leaf = self.inputs[wrt].detach().clone().requires_grad_()
        values, relevant = {wrt: leaf}, self.depends(wrt)
        with torch.enable_grad():
            for step in self.steps:
                if step.key in relevant:
                    known = {where: values[source] for where, source in step.operands if source in values}
                    values[step.key] = step.apply(known)
        return vjp(leaf, values[self.out], self.out_g) if self.out in values else torch.zeros_like(leaf)

    def _sweep(self, wrt: str, skip: frozenset[Use]) -> list[dict[str, torch.Tensor]]:
        """The gradients known behind each step, in a sweep without a wrong rule; at the end, the upstream alone."""
        if (wrt, skip) not in self._sweeps:
            gradients = {self.out: self.out_g}
            known = [dict(gradients)]
            for step in reversed(self.steps):
                self._add_contributions(step, wrt, gradients, {}, skip)
                known.append(dict(gradients))
            self._sweeps[wrt, skip] = known[::-1]
        return self._sweeps[wrt, skip]

    @cached_property
    def _sweeps(self) -> dict[tuple[str, frozenset[Use]], list[dict[str, torch.Tensor]]]:
        return {}

    def _add_contributions(
        self,
        step: Step,
        wrt: str,
        gradients: dict[str, torch.Tensor],
        rules: Rules,
        skip: frozenset[Use],
    ) -> None:
        """Add what one step contributes to the gradients of its operands."""
        relevant, g = self.depends(wrt), gradients.get(step.key)
        if g is None or step.key not in relevant:
            return
        if (step.index, None) in rules:
            g = rules[step.index, None](self, step, g)
        for where, source in step.operands:
            if source not in relevant or (step.index, where) in skip:
                continue
            rule = rules.get((step.index, where))
            part = self._right_contribution(step, where, g) if rule is None else rule(self, step, g)
            gradients[source] = gradients[source] + part if source in gradients else part

    def _right_contribution(self, step: Step, where: Position, g: torch.Tensor) -> torch.Tensor:
        """The step's own vjp; a gradient that went wrong in shape passes a mere rearrangement as it is."""
        rearranged = len(step.operands) == 1 and step.operand(where).numel() == step.value.numel()
        return g if rearranged and g.shape != step.value.shape else step.vjp(where, g)


def _constants(step: Step) -> tuple[float, ...]:
    return tuple(float(value) for value in step.args if isinstance(value, (int, float)))


def with_replaced(value: Any, replaced: Mapping[Position, torch.Tensor], path: Position) -> Any:
    if path in replaced:
        return replaced[path]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(with_replaced(v, replaced, (*path, i)) for i, v in enumerate(value))
    return value
