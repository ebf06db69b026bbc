"""The forward pass as a list of operations, each with its own vector-Jacobian product.

`record` runs a forward pass once and notes every torch operation on its way; `Trace.backward` is the reverse
sweep over that list. The sweep can be handed one wrong rule, so that a mistake can be computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

Position = tuple[int | str, ...]
Rule = Callable[["Trace", "Step", torch.Tensor], torch.Tensor]

SYMBOLS = {
    "matmul": "@", "mm": "@", "bmm": "@", "__matmul__": "@", "__rmatmul__": "@", "add": "+", "sub": "-",
    "__rsub__": "-", "mul": "*", "div": "/", "__rdiv__": "/", "__rtruediv__": "/", "neg": "-",
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth")
IN_PLACE = {
    "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__idiv__": "div", "__itruediv__": "div",
    "__ipow__": "pow", "__setitem__": "index_put",
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

    def apply(self, replaced: Mapping[Position, torch.Tensor]) -> torch.Tensor:
        """The operation run again with some operands replaced."""
        kwargs = {name: _replace(value, replaced, (name,)) for name, value in self.kwargs.items()}
        result = self.func(*_replace(self.args, replaced, ()), **kwargs)
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
    """

    inputs: Mapping[str, torch.Tensor]
    steps: tuple[Step, ...]
    out: str
    out_g: torch.Tensor
    memo: dict[Any, torch.Tensor] = field(default_factory=dict, compare=False, repr=False)

    def values(self) -> dict[str, torch.Tensor]:
        """Every value of the forward pass by key: inputs by name, intermediates as `%index`."""
        return {**self.inputs, **{step.key: step.value for step in self.steps}}

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


def record(forward: Callable[..., torch.Tensor], inputs: Mapping[str, Any], out_g: torch.Tensor) -> Trace:
    """Run `forward(**inputs)` once and note its operations."""
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    recorder = _Recorder(tensors)
    with torch.no_grad(), recorder:
        out = forward(**inputs)
    return Trace(tensors, _told_apart(recorder.steps), recorder.keys[id(out)], out_g)


def _told_apart(steps: list[Step]) -> tuple[Step, ...]:
    """The steps, with those that a learner would call the same numbered in words."""
    alike = [(step.name, [arg for arg in step.args if isinstance(arg, (int, float))]) for step in steps]
    numbered = []
    for i, step in enumerate(steps):
        place = alike[:i].count(alike[i])
        several = alike.count(alike[i]) > 1 and place < len(ORDINALS)
        numbered.append(replace(step, nth=f"the {ORDINALS[place]} ") if several else step)
    return tuple(numbered)


class _Recorder(TorchFunctionMode):
    """Notes each operation with copies of its operands, so that later work in place cannot change them."""

    def __init__(self, inputs: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.keys = {id(tensor): name for name, tensor in inputs.items()}
        self.values = dict(inputs)
        self.alive: list[torch.Tensor] = []
        self.steps: list[Step] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        given = _positional(args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        if _works_in_place(func):
            self._note(_OutOfPlace(func), *given, args[0])
        elif isinstance(result, torch.Tensor) and id(result) not in self.keys:
            self._note(func, *given, result)
        elif isinstance(result, tuple):
            for i, part in enumerate(result):
                if isinstance(part, torch.Tensor):
                    self._note(_Part(func, i), *given, part)
        return result

    def _note(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, value: torch.Tensor) -> None:
        found = [*_tensors(args, ()), *(pair for name in kwargs for pair in _tensors(kwargs[name], (name,)))]
        known = {where: self.keys[id(tensor)] for where, tensor in found if id(tensor) in self.keys}
        copies = {where: self.values[key] for where, key in known.items()}
        operands = tuple(
            (where, key)
            for where, key in known.items()
            if copies[where].is_floating_point() and value.is_floating_point()
        )
        kept = {name: _replace(given, copies, (name,)) for name, given in kwargs.items()}
        step = Step(len(self.steps), func, _replace(args, copies, ()), kept, value.clone(), operands)
        self.steps.append(step)
        self.alive.append(value)  # while it lives, nothing else gets its id
        self.keys[id(value)] = step.key
        self.values[step.key] = step.value


def _positional(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`matmul(a, other=b)` as `matmul(a, b)`."""
    if len(args) == 1 and isinstance(kwargs.get("other"), torch.Tensor):
        return (*args, kwargs["other"]), {name: value for name, value in kwargs.items() if name != "other"}
    return args, dict(kwargs)


def _works_in_place(func: Callable[..., Any]) -> bool:
    name = str(getattr(func, "__name__", ""))
    return name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))


@dataclass(frozen=True)
class _OutOfPlace:
    """An operation that changes its first argument, made to change and return a copy."""

    func: Callable[..., Any]

    @property
    def __name__(self) -> str:
        name = str(getattr(self.func, "__name__", self.func))
        return IN_PLACE.get(name, name.rstrip("_"))

    def __call__(self, first: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        copy = first.clone()
        self.func(copy, *args, **kwargs)
        return copy


@dataclass(frozen=True)
class _Part:
    """One tensor of an operation that returns several."""

    func: Callable[..., Any]
    index: int

    @property
    def __name__(self) -> str:
        return str(getattr(self.func, "__name__", self.func))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)[self.index]


def _tensors(value: Any, path: Position) -> Iterator[tuple[Position, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (tuple, list)):
        yield from itertools.chain.from_iterable(_tensors(v, (*path, i)) for i, v in enumerate(value))


def _replace(value: Any, replaced: Mapping[Position, torch.Tensor], path: Position) -> Any:
    if path in replaced:
        return replaced[path]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(_replace(v, replaced, (*path, i)) for i, v in enumerate(value))
    return value
