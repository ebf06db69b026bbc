"""Where a gradient is split into rows: what arrives at a step, or at one of its operands, along an axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .operations import axis_names
from .trace import Place, Step, Trace

Weights = Callable[[int], torch.Tensor]


def only(*bounds: int | None) -> Weights:
    """1 for the rows of a slice, 0 for the others."""
    return lambda count: torch.zeros(count, dtype=torch.float64).index_fill(0, torch.arange(count)[slice(*bounds)], 1)


@dataclass(frozen=True)
class Split:
    """Where a gradient is split into rows: what arrives at a step, or at one of its operands, along an axis."""

    place: Place
    axis: int

    def rows(self, trace: Trace) -> int:
        step, where = trace.steps[self.place[0]], self.place[1]
        return (step.value if where is None else step.operand(where)).shape[self.axis]

    def axes(self, trace: Trace) -> list[list[Any]]:
        """The axis in a record."""
        return axis_names([self.rows(trace)], trace.sizes)

    def weighed(self, trace: Trace, wrt: str, weights: Weights) -> torch.Tensor:
        """The gradient with its rows multiplied by their weights."""

        def weigh(_: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            g = g if self.place[1] is None else step.vjp(self.place[1], g)
            return g * weights(g.shape[self.axis]).view([-1 if i == self.axis else 1 for i in range(g.dim())])

        return trace.backward(wrt, {self.place: weigh})

    def parts(self, trace: Trace, wrt: str) -> np.ndarray:
        """What each row alone contributes; shape: (rows, entries of the answer)."""
        alone = [self.weighed(trace, wrt, only(i, i + 1)).flatten() for i in range(self.rows(trace))]
        return torch.stack(alone).numpy()
