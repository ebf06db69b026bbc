"""Where a gradient is split into rows: what arrives at a step, or at one of its operands, along an axis."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from .compare import MATCH
from .operations import axis_names
from .trace import Place, Step, Trace

Weights = Callable[[int], torch.Tensor]


def only(*bounds: int | None) -> Weights:
    """1 for the rows of a slice, 0 for the others."""
    return lambda count: torch.zeros(count, dtype=torch.float64).index_fill(0, torch.arange(count)[slice(*bounds)], 1)


PATTERNS: Mapping[str, Weights] = {
    "all-but-first": only(1, None), "all-but-last": only(0, -1),
    "every-other": only(0, None, 2), "every-other-not-first": only(1, None, 2),
    "first-half": lambda n: only(0, n // 2)(n), "second-half": lambda n: only(n // 2, None)(n),
    "groups-of-2": lambda n: only(0, n // 2 * 2)(n), "groups-of-3": lambda n: only(0, n // 3 * 3)(n),
    "groups-of-4": lambda n: only(0, n // 4 * 4)(n),
    "first-2": only(0, 2), "first-3": only(0, 3), "first-4": only(0, 4),
    "first-twice": lambda n: 1 + only(0, 1)(n), "last-twice": lambda n: 1 + only(-1, None)(n),
    "running-from-first": lambda n: torch.arange(n, 0, -1), "running-from-last": lambda n: torch.arange(n) + 1,
}  # fmt: skip


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


@dataclass(frozen=True)
class RowParts:
    """Numbers of a trial, next to what each row contributes to them."""

    axes: list[list[Any]]
    parts: np.ndarray  # shape: (rows, entries)
    array: np.ndarray  # flat

    def chosen(self) -> np.ndarray | None:
        """Which rows count; `None` if no choice of them gives the array."""
        ways = _ways(len(self.parts))
        fits = np.abs(ways @ self.parts - self.array).max(axis=1) <= MATCH * np.abs(self.parts).max()
        return np.asarray(ways[fits.argmax()]) if fits.any() else None

    def weights(self) -> np.ndarray | None:
        """The weights with which the rows give the array, if there are any; not all of them alike."""
        weights, _, rank, _ = np.linalg.lstsq(self.parts.T, self.array, rcond=1e-6)
        off = np.abs(weights @ self.parts - self.array).max()
        uneven = np.ptp(weights) > MATCH * np.abs(weights).max()
        told = rank == len(self.parts) and off <= MATCH * np.abs(self.array).max() and uneven
        return weights if told else None


@cache
def _ways(rows: int) -> np.ndarray:
    """Every choice of so many rows, those of the most rows first; shape: (choices, rows)."""
    return np.array(sorted(itertools.product((0, 1), repeat=rows), key=lambda way: -sum(way)))
