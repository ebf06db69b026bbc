"""The forward pass as a list of operations, each with its own vector-Jacobian product.

`recording` runs a forward pass once and notes every torch operation on its way; `Trace.backward` is the reverse
sweep over that list. The sweep can be handed one wrong rule, so that a mistake can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

Position = tuple[int | str, ...]
Place = tuple[int, Position | None]  # a step, and which of its operands, where it is about one
Rule = Callable[["Trace", "Step", torch.Tensor], torch.Tensor]

SYMBOLS = {
    "matmul": "@", "mm": "@", "bmm": "@", "__matmul__": "@", "__rmatmul__": "@", "add": "+", "sub": "-",
    "__rsub__": "-", "mul": "*", "div": "/", "__rdiv__": "/", "__rtruediv__": "/", "neg": "-",
    "__getitem__": "[...]",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One operation of the forward pass.

    Args:
        index: its place in the trace; its value is known as `%index`.
        func: the torch function.
        args: its arguments, tensors included.
        kwargs: its keyword arguments.
        value: what it returned.
        operands: where in the arguments a floating-point value of the trace stands, and that value's key; none
            where the step's own value is not floating-point (a mask is a constant to the reverse sweep).
        nth: `"the second "`, where the same operation stands more than once.
    """

    index: int
    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    value: torch.Tensor
    operands: tuple[tuple[Position, str], ...]
    nth: str = ""

    @property
    def key(self) -> str:
        return f"%{self.index}"

    @property
    def name(self) -> str:
        """The operation's torch name, such as `mean` or `matmul`."""
        if getattr(self.func, "__name__", "") == "__get__":
            return "transpose"
        return str(getattr(self.func, "__name__", self.func))

    @property
    def label(self) -> str:
        """The operation as a learner writes it, such as `@` or `mean`."""
        return SYMBOLS.get(self.name, self.name)

    def operand(self, position: Position) -> torch.Tensor:
        """The tensor at `position` of the arguments."""
        value: Any = self.kwargs if isinstance(position[0], str) else self.args
        for i in position:
            value = value[i]
        assert isinstance(value, torch.Tensor)
        return value

    def with_operands(self, replaced: Mapping[Position, torch.Tensor]) -> Step:
        """The step with some operands replaced, its value as it was."""
        kwargs = {name: with_replaced(value, replaced, (name,)) for name, value in self.kwargs.items()}
        return replace(self, args=with_replaced(self.args, replaced, ()), kwargs=kwargs)

    def apply(self, replaced: Mapping[Position, torch.Tensor]) -> torch.Tensor:
        """The operation run again with some operands replaced."""
        again = self.with_operands(replaced)
        result = self.func(*again.args, **again.kwargs)
        assert isinstance(result, torch.Tensor)
        return result

    def vjp(
        self, position: Position, g: torch.Tensor, replaced: Mapping[Position, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The contribution to the operand at `position` of an upstream gradient `g`, shaped like the operand.

        `replaced` evaluates the derivative at other values.
        """
        values = {where: self.operand(where) for where, _ in self.operands} | dict(replaced or {})
        leaf = values[position].detach().clone().requires_grad_()
        with torch.enable_grad():
            value = self.apply({**values, position: leaf})
            if value.shape != g.shape:
                raise ValueError("the upstream gradient has another shape than the value")
            if not value.requires_grad:
                return torch.zeros_like(leaf)
            (gradient,) = torch.autograd.grad((value * g).sum(), leaf, allow_unused=True)
        return torch.zeros_like(leaf) if gradient is None else gradient


@dataclass(frozen=True)
class Wrong:
    """One wrong rule in a reverse sweep.

    Args:
        step: at which step.
        position: for which operand; `None` replaces the upstream gradient of the whole step.
        rule: what is computed instead; takes the trace, the step and the step's upstream gradient.
    """

    step: int
    position: Position | None
    rule: Rule


@dataclass(frozen=True)
class Trace:
    """A recorded forward pass.

    Args:
        inputs: its differentiable and other tensor inputs by name.
        steps: its operations in order.
        out: the key of its output.
        out_g: the upstream gradient, shaped like the output.
        again: records the same forward pass with some inputs exchanged.
    """

    inputs: Mapping[str, torch.Tensor]
    steps: tuple[Step, ...]
    out: str
    out_g: torch.Tensor
    again: Callable[[Mapping[str, torch.Tensor]], Trace] = field(compare=False, repr=False)
    memo: dict[Any, torch.Tensor] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def plan(self) -> tuple[object, ...]:
        """Which operations it takes of which values; what is known of one trace holds for another of the same plan."""
        return (self.out, *((step.name, step.operands) for step in self.steps))

    def values(self) -> dict[str, torch.Tensor]:
        """Every value of the forward pass by key: inputs by name, intermediates as `%index`."""
        return {**self.inputs, **{step.key: step.value for step in self.steps}}

    def with_step(self, index: int, change: Callable[[Step], Step]) -> Trace:
        """The forward pass run again with one step changed, and all that follows from it."""
        values: dict[str, torch.Tensor] = dict(self.inputs)
        steps: list[Step] = []
        for step in self.steps:
            again = step.with_operands({where: values[source] for where, source in step.operands})
            again = change(again) if step.index == index else again
            steps.append(replace(again, value=again.apply({})))
            values[step.key] = steps[-1].value
        return replace(self, steps=tuple(steps), memo={})

    def uses(self, key: str) -> list[tuple[int, Position]]:
        """Where a value is used: step and position."""
        return [(step.index, where) for step in self.steps for where, source in step.operands if source == key]

    def depends(self, key: str) -> set[str]:
        """The keys of all values that depend on `key`, itself included."""
        found = {key}
        for step in self.steps:
            if any(source in found for _, source in step.operands):
                found.add(step.key)
        return found

    def backward(
        self, wrt: str, wrong: tuple[Wrong, ...] = (), skip: frozenset[tuple[int, Position]] = frozenset()
    ) -> torch.Tensor:
        """The gradient of `(out * out_g).sum()` with respect to `wrt`, by a reverse sweep.

        Args:
            wrong: rules to follow instead of the right ones.
            skip: uses that contribute nothing (step and position).
        """
        rules = {(rule.step, rule.position): rule.rule for rule in wrong}
        relevant = self.depends(wrt)
        gradients: dict[str, torch.Tensor] = {self.out: self.out_g}
        for step in reversed(self.steps):
            g = gradients.get(step.key)
            if g is None or step.key not in relevant:
                continue
            if (step.index, None) in rules:
                g = rules[step.index, None](self, step, g)
            for where, source in step.operands:
                if source not in relevant or (step.index, where) in skip:
                    continue
                rule = rules.get((step.index, where))
                part = self._right(step, where, g) if rule is None else rule(self, step, g)
                gradients[source] = gradients[source] + part if source in gradients else part
        return gradients.get(wrt, torch.zeros_like(self.inputs[wrt]))

    def _right(self, step: Step, where: Position, g: torch.Tensor) -> torch.Tensor:
        """The step's own vjp; a gradient that went wrong in shape passes a mere rearrangement as it is."""
        rearranged = len(step.operands) == 1 and step.operand(where).numel() == step.value.numel()
        return g if rearranged and g.shape != step.value.shape else step.vjp(where, g)


def with_replaced(value: Any, replaced: Mapping[Position, torch.Tensor], path: Position) -> Any:
    if path in replaced:
        return replaced[path]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(with_replaced(v, replaced, (*path, i)) for i, v in enumerate(value))
    return value
