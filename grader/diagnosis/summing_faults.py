"""Slips in summing: over no axis, the wrong axes, only a part of them, or averaging instead."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from grader.reference.trace import Rule, Step
from grader.shapes import PARTS, Sizes, name_axes

from .fault import Fault, Make

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Sum:
    """A gradient that is the sum of a larger array.

    Args:
        terms: the larger array, from a step and its upstream gradient.
        shape: its shape in the first trial.
        summed: the axes that are rightly summed over.
        sizes: the trial's axis sizes, to name axes by.
        batch: the axis that numbers the examples.
    """

    terms: Callable[[Step, torch.Tensor], torch.Tensor]
    shape: Sequence[int]
    summed: Axes
    sizes: Sizes
    batch: int = 0

    def name(self, axes: Axes) -> str:
        """Axes in words."""
        return name_axes([self.shape[axis] for axis in axes], self.sizes)

    def left_over(self, axes: Axes, what: str = "") -> str:
        """A clause: these axes are left; `what` was not summed over them, by default that which has them."""
        verb, them, they = ("is", "it", "it was") if len(axes) == 1 else ("are", "them", "they were")
        ending = f"{what} not summed over {them}" if what else f"{they} not summed over"
        return f"{self.name(axes)} {verb} still there: {ending}"

    def faults(self, fault: Make) -> Iterator[Fault]:
        """Sums over other axes, over a part of the right ones, and means."""
        for axes in subsets(tuple(range(len(self.shape)))):
            if axes != self.summed:
                yield fault(self._code(axes), self._says(axes), self._total(axes))
        yield fault("partial-batch", f"of {self.name(self.summed)}, only the largest counted", self._largest)
        for axes in subsets(self.summed):
            several = any(self.shape[axis] > 1 for axis in axes)
            for which, part in PARTS.items() if several else ():
                yield fault("partial-batch", f"of {self.name(axes)}, {which} counted", self._part(axes, part))
            yield fault("mean-for-sum", self._says_mean(axes), self._mean(axes))

    def _code(self, axes: Axes) -> str:
        if set(axes) < set(self.summed):
            return "missing-batch-sum"
        too_many = set(self.summed) < set(axes) and self.batch in set(axes) - set(self.summed)
        return "extra-batch-sum" if too_many else "summed-wrong-axis"

    def _says(self, axes: Axes) -> str:
        left, extra = (tuple(sorted(set(a) - set(b))) for a, b in ((self.summed, axes), (axes, self.summed)))
        if left and not extra:
            return self.left_over(left)
        if extra and not left:
            return f"it is summed over {self.name(extra)} too, which it must keep"
        return f"it is summed over {self.name(extra)}, not over {self.name(left)}"

    def _total(self, axes: Axes) -> Rule:
        return lambda trace, step, g: self.terms(step, g).sum(axes)

    def _largest(self, _trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        return self.terms(step, g).amax(self.summed)

    def _part(self, axes: Axes, part: slice) -> Rule:
        chosen = tuple(part if axis in axes else slice(None) for axis in range(len(self.shape)))
        return lambda trace, step, g: self.terms(step, g)[chosen].sum(self.summed)

    def _mean(self, axes: Axes) -> Rule:
        def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
            terms = self.terms(step, g)
            count = torch.tensor([terms.shape[axis] for axis in axes]).prod()
            return terms.sum(self.summed) / count

        return rule

    def _says_mean(self, axes: Axes) -> str:
        if len(axes) == 1 == len(self.summed):
            axis, size = self.name(axes).split(" (")[0], self.shape[axes[0]]
            return f"every entry is 1/{size} of what it should be, and {axis} = {size} here"
        return f"this is the mean over {self.name(axes)} where the sum belongs"


def subsets(axes: Axes) -> Iterator[Axes]:
    """Every non-empty subset, the largest first."""
    for count in range(len(axes), 0, -1):
        yield from itertools.combinations(axes, count)


def unbroadcast(g: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Sum `g` over the axes that broadcasting added to reach its shape from `shape`."""
    return g.sum_to_size(shape) if shape else g.sum()
