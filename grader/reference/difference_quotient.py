"""Difference quotients: a function's rise between two places, over how far these are apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .compare import scaled_error
from .trial import IMPOSSIBLE, Trial

EXACT = 1e-9
# How many steps away from x a function may have been taken.
PLACES: Mapping[float, str] = {
    -2: "x - 2h", -1: "x - h", -0.5: "x - h / 2", 0: "x", 0.5: "x + h / 2", 1: "x + h", 2: "x + 2h",
}  # fmt: skip


@dataclass(frozen=True)
class Quotient:
    """A difference quotient in one trial: its arguments, and the two places of the right one.

    Args:
        f: takes what `x` is.
        x: a float, or a tensor that is moved entry by entry.
        v: weights of the function's values, if there are any.
        h: the step.
        ahead: the place of the first height, in steps from `x`.
        behind: the place of the second.
        together: with each entry those before it are moved, too.
    """

    f: Callable[[Any], Any]
    x: Any
    v: torch.Tensor | None
    h: float
    ahead: float = 0
    behind: float = 0
    together: bool = False

    @classmethod
    def of(cls, trial: Trial, ahead: float = 0, behind: float = 0) -> Quotient | None:
        """Of a routine that takes a function, a point, perhaps weights, and a step; `None` of any other."""
        values = list(trial.inputs.values())
        if len(values) not in (3, 4) or not callable(values[0]) or type(values[-1]) is not float:
            return None
        f, x, *v, h = values
        if not all(isinstance(value, torch.Tensor) for value in (x, *v)) and (v or type(x) is not float):
            return None
        return cls(f, x, v[0] if v else None, h, ahead, behind)

    def height(self, place: float, step: Any = None) -> Any:
        """The function's value with x moved by `place` steps, once for each entry of x; shape: that of x.

        Args:
            step: instead of `h`, a number, or one for each entry of x.
        """
        move = place * (self.h if step is None else step)
        if isinstance(self.x, float):
            return np.asarray(float(self.f(self.x + move)))
        moved = torch.eye(self.x.numel(), dtype=self.x.dtype) * torch.as_tensor(move).flatten()
        heights = [self.f(self.x + row.view(self.x.shape)) for row in (moved.cumsum(0) if self.together else moved)]
        numbers = [float(value if self.v is None else (value * self.v).sum()) for value in heights]
        return np.array(numbers).reshape(self.x.shape)

    def at(self, place: float) -> float:
        """The function's value at a number that is not x."""
        if not isinstance(self.x, float):
            raise ValueError("this can be done with numbers only")
        return float(self.f(place))

    def rise(self, ahead: float, behind: float, step: Any = None) -> Any:
        return self.height(ahead, step) - self.height(behind, step)

    def right_rise(self, step: Any = None) -> Any:
        return self.rise(self.ahead, self.behind, step)

    @property
    def run(self) -> float:
        """How far the right two places are apart."""
        return (self.ahead - self.behind) * self.h

    @property
    def weights(self) -> np.ndarray:
        if self.v is None or self.v.shape != self.x.shape:
            raise ValueError("there are no weights, or not one for each entry of x")
        return self.v.numpy()


def place_pairs() -> Iterator[tuple[float, float]]:
    """Two places, the one ahead first."""
    return ((ahead, behind) for ahead in PLACES for behind in PLACES if behind < ahead)


def places_of_right(trial: Trial) -> tuple[float, float] | None:
    """Where the right answer takes the function, if it is a difference quotient."""
    quotient, right = Quotient.of(trial), next(iter(trial.expected.values()))
    if quotient is None or right is None:
        return None
    for ahead, behind in place_pairs():
        try:
            found = quotient.rise(ahead, behind) / ((ahead - behind) * quotient.h)
        except IMPOSSIBLE:
            return None
        if found.shape == right.shape and scaled_error(found, right) < EXACT:
            return ahead, behind
    return None
