"""One step of a forward pass, seen from one of its operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from .operations import axis_names, value_name
from .trace import Line, Position, Step, Trace
from .trial import IMPOSSIBLE


def unbroadcast(g: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Sum `g` over the axes that broadcasting added to reach its shape from `shape`."""
    return g.sum_to_size(shape) if shape else g.sum()


@dataclass(frozen=True)
class At:
    """One step of a pass, seen from one of its operands; in a sweep with the gradient that arrives there.

    Args:
        position: the operand; `None` for the step as a whole.
        g: the upstream gradient of the step.
    """

    trace: Trace
    step: Step
    position: Position | None = None
    g: torch.Tensor = field(default_factory=lambda: torch.empty(0))

    @property
    def x(self) -> torch.Tensor:
        """The operand."""
        return self.step.operand(self.where)

    @property
    def y(self) -> torch.Tensor:
        """What the step gives."""
        return self.step.value

    @property
    def where(self) -> Position:
        if self.position is None:
            ((position, _), *_) = self.step.operands
            return position
        return self.position

    @property
    def source(self) -> str:
        """The key of the operand."""
        return dict(self.step.operands)[self.where]

    @property
    def others(self) -> list[Position]:
        """The step's other operands."""
        return [where for where, _ in self.step.operands if where != self.where]

    @property
    def partner(self) -> torch.Tensor:
        """The other of two operands."""
        (where,) = self.others
        return self.step.operand(where)

    @property
    def is_last(self) -> bool:
        return self.step.key == self.trace.out

    @property
    def n(self) -> int:
        """How many entries of the operand become one."""
        return self.x.numel() // max(self.y.numel(), 1)

    @property
    def given(self) -> bool:
        """An upstream gradient is given."""
        return bool(self.trace.upstream_name)

    @property
    def is_given_last(self) -> bool:
        """What arrives is the upstream gradient that is given."""
        return self.given and self.is_last

    @property
    def name(self) -> str:
        return self.step.name

    @property
    def ones(self) -> torch.Tensor:
        return torch.ones_like(self.y)

    def key(self, where: Position) -> str:
        """The key of any operand."""
        return dict(self.step.operands)[where]

    def back(
        self, g: torch.Tensor | None = None, replaced: Mapping[Position, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """The right contribution to the operand; of another upstream gradient, or with other operands."""
        return self.step.vjp(self.where, self.g if g is None else g, replaced)

    @cached_property
    def d(self) -> torch.Tensor:
        """d value / d operand of a pointwise operation, entry by entry; shape: that of the value."""
        return self.derivative_at(self.x)

    @cached_property
    def slopes(self) -> torch.Tensor:
        """The derivative at the operand and at numbers from -9 to 9."""
        probes = torch.linspace(-9, 9, max(self.y.numel(), 2), dtype=self.y.dtype)[: self.y.numel()]
        return torch.stack([self.d, self.derivative_at(probes.view(self.y.shape))])

    def derivative_at(self, x: torch.Tensor) -> torch.Tensor:
        return self.step.vjp(self.where, torch.ones_like(self.y), {self.where: x.expand(self.y.shape)})

    def fitted(self, terms: torch.Tensor) -> torch.Tensor:
        """Terms shaped like the value, summed to the operand's shape."""
        return unbroadcast(terms, self.x.shape)

    def axes(self, shape: Iterable[int]) -> list[list[Any]]:
        return axis_names(shape, self.trace.sizes)

    def named(self, key: str) -> str:
        return value_name(self.trace, key)


def is_pointwise(at: At) -> bool:
    """The value has one entry for each entry of the (broadcast) operands, and depends on no other entry of this one."""
    try:
        wide = np.broadcast_shapes(*(at.step.operand(where).shape for where, _ in at.step.operands))
    except ValueError:  # the operands do not broadcast, as in `cat`
        return False
    if wide != tuple(at.y.shape):
        return False
    last = torch.zeros(at.y.shape, dtype=at.y.dtype)
    last.view(-1)[-1:] = 1
    try:
        moved = at.back(last, {at.where: at.x.expand(at.y.shape)})
    except IMPOSSIBLE:  # it takes that operand in its own shape alone
        return False
    return not bool(moved.nan_to_num().flatten()[:-1].any())


def shaped(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The value, if it has this shape in every trial."""
    if value.shape != like.shape:
        raise ValueError("the values have different shapes in this trial")
    return value


def turn_of(at: At) -> int:
    """Which turn of its loop a step is in."""
    return at.trace.turns[at.step.line].index(at.step.index)


def loop_of(at: At, key: str) -> Line | None:
    """The line that makes a value once in every turn of the loop that the step is in."""
    line = at.trace.steps[int(key[1:])].line if key.startswith("%") else None
    count = len(at.trace.turns[at.step.line])
    return line if line is not None and 1 < count == len(at.trace.turns[line]) else None


def values_beside(at: At, values: Mapping[str, torch.Tensor], like: torch.Tensor) -> Iterator[dict[str, Any]]:
    """Values of one shape, of those that a loop makes only that of the step's own turn: key, and line in a loop.

    With them, what the turn before has handed on: the line that takes it, and as which operand.
    """
    for key, taker, inner in handed_on(at):
        if value_at(at, key, taker, inner).shape == like.shape:
            yield {"key": key, "line": taker, "inner": inner}
    for key, value in values.items():
        if value.shape == like.shape and value.is_floating_point():
            if (line := loop_of(at, key)) is None:
                yield {"key": key}
            elif at.trace.turns[line].index(int(key[1:])) == turn_of(at):
                yield {"key": key, "line": line}


def handed_on(at: At) -> Iterator[tuple[str, Line, Position]]:
    """What each turn of the step's loop takes from the turn before, and the first from outside: key, line, operand."""
    found: dict[tuple[str, str], tuple[str, Line, Position]] = {}
    for line, where, outside, made in at.trace.carried:
        turns = at.trace.turns[line]
        if len(turns) == len(at.trace.turns[at.step.line]) and loop_of(at, made) and not loop_of(at, outside):
            own = dict(at.trace.steps[turns[turn_of(at)]].operands)
            found.setdefault((outside, made), (own[where], line, where))
    yield from found.values()


def name_beside(at: At, key: str, line: Line | None = None, inner: Position | None = None) -> str:
    """Such a value in a record; ``<`+` `` is what the turn before gives as the result of a step."""
    return at.named(key) if inner is None else at.named(key).replace("%", "<", 1)


def value_at(at: At, key: str, line: Line | None = None, inner: Position | None = None) -> torch.Tensor:
    """A value, in a loop that of the step's own turn; with `inner`, that operand of the line."""
    if line is None:
        return at.trace.values()[key]
    step = at.trace.steps[at.trace.turns[line][turn_of(at)]]
    return step.value if inner is None else step.operand(inner)
