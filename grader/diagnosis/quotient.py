"""Slips in a difference quotient: where the function is taken, what joins its values, what they are divided by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.reference.compare import scaled_error
from grader.reference.trial import IMPOSSIBLE, Trial

from .operator import End, Kind, Operator, Parameters

EXACT = 1e-9
# How many steps away from x a function may have been taken.
PLACES: Mapping[float, str] = {
    -2: "x - 2h", -1: "x - h", -0.5: "x - h / 2", 0: "x", 0.5: "x + h / 2", 1: "x + h", 2: "x + 2h",
}  # fmt: skip
OWN_STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)


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

    def height(self, place: float, step: Any = None) -> np.ndarray:
        """The function's value with x moved by `place` steps, once for each entry of x; shape: that of x.

        Args:
            step: instead of `h`, a number, or one for each entry of x.
        """
        move = place * (self.h if step is None else step)
        if isinstance(self.x, float):
            return np.asarray(float(self.f(self.x + move)))
        moved = torch.eye(self.x.numel(), dtype=self.x.dtype) * torch.as_tensor(move).flatten()
        moved = moved.cumsum(0) if self.together else moved
        heights = [self._number(self.f(self.x + row.view(self.x.shape))) for row in moved]
        return np.array(heights).reshape(self.x.shape)

    def _number(self, value: Any) -> float:
        return float(value if self.v is None else (value * self.v).sum())

    def rise(self, ahead: float, behind: float, step: Any = None) -> np.ndarray:
        rise: np.ndarray = self.height(ahead, step) - self.height(behind, step)
        return rise

    @property
    def run(self) -> float:
        """How far the right two places are apart."""
        return (self.ahead - self.behind) * self.h


def _slip(name: str, code: str, change: Callable[..., np.ndarray]) -> Operator:
    def rule(end: End, right: tuple[float, float], **chosen: Any) -> np.ndarray:
        known = _arguments(end.trial)
        if known is None:
            raise ValueError("this trial has no function to take a quotient of")
        with np.errstate(all="ignore"):
            return np.asarray(change(Quotient(*known, *right), **chosen))

    return Operator(name, code, rule, kind=Kind.END)


def _taken_at(one: Quotient, place: float) -> float:
    if not isinstance(one.x, float):
        raise ValueError("this can be done with numbers only")
    return float(one.f(place))


def _bend(scale: float, power: int, one: Quotient) -> np.ndarray:
    bend: np.ndarray = (one.rise(1, 0) - one.rise(0, -1)) / (scale * one.h**power)
    return bend


def _weighted_again(one: Quotient) -> np.ndarray:
    if one.v is None or one.v.shape != one.x.shape:
        raise ValueError("there are no weights, or not one for each entry of x")
    weighted: np.ndarray = one.rise(one.ahead, one.behind) / one.run * one.v.numpy()
    return weighted


OTHER_PLACES = _slip("function-at-other-places", "wrong-point", lambda one, p, q, run: one.rise(p, q) / (run * one.h))
OWN_STEP = _slip(
    "own-step",
    "hard-coded",
    lambda one, step: one.rise(one.ahead, one.behind, step) / ((one.ahead - one.behind) * step),
)
QUOTIENTS = (
    OTHER_PLACES,
    _slip("second-at-h", "wrong-point", lambda one: (one.height(one.ahead) - _taken_at(one, one.h)) / one.run),
    _slip("h-added-to-value", "wrong-point", lambda one: (one.height(0) + one.h - one.height(one.behind)) / one.run),
    _slip("first-at-h", "wrong-point", lambda one: (_taken_at(one, one.h) - one.height(one.behind)) / one.run),
    _slip("step-multiplied", "wrong-point",
          lambda one: (_taken_at(one, one.x * one.h) - one.height(one.behind)) / one.run),
    _slip("heights-added", "wrong-sign", lambda one: (one.height(one.ahead) + one.height(one.behind)) / one.run),
    _slip("sign-of-rise-lost", "wrong-sign", lambda one: abs(one.rise(one.ahead, one.behind)) / one.run),
    _slip("divided-by-x", "wrong-operand", lambda one: one.rise(one.ahead, one.behind) / np.asarray(one.x)),
    _slip("divided-by-x-and-h", "wrong-operand",
          lambda one: one.rise(one.ahead, one.behind) / (np.asarray(one.x) + one.h)),
    _slip("only-second-divided", "wrong-operand",
          lambda one: one.height(one.ahead) - one.height(one.behind) / one.run),
    _slip("only-first-divided", "wrong-operand",
          lambda one: one.height(one.ahead) / one.run - one.height(one.behind)),
    *(_slip("change-of-slope", "wrong-local", partial(_bend, scale, power)) for scale in (1.0, 2.0) for power in (1, 2)),
    _slip("step-never-set-back", "wrong-point",
          lambda one: replace(one, together=True).rise(one.ahead, one.behind) / one.run),
    OWN_STEP,
    _slip("step-times-x", "wrong-point", lambda one: one.rise(one.ahead, one.behind, one.h * one.x) / one.run),
    _slip("step-times-x", "wrong-point",
          lambda one: one.rise(one.ahead, one.behind, one.h * one.x) / (one.run * np.asarray(one.x))),
    _slip("weighted-twice", "extra-factor", _weighted_again),
    _slip("function-itself", "forward-value", lambda one: np.asarray(one.f(one.x), dtype="float64")),
)  # fmt: skip


def quotient_choices(trial: Trial) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Operator, parameters, what is told; nothing where the right answer is no difference quotient.

    Args:
        trial: the first trial.
    """
    found = _places(trial)
    if found is None:
        return
    ahead, behind = found
    points = {"ahead": PLACES[ahead], "behind": PLACES[behind]}
    right = {"right": (ahead, behind)}
    for p in PLACES:
        for q in (q for q in PLACES if q < p and (p, q) != (ahead, behind)):
            told = {"p": PLACES[p], "q": PLACES[q], **points}
            for run in (p - q, ahead - behind):
                yield OTHER_PLACES, {"p": p, "q": q, "run": run, **right}, told
    for operator in QUOTIENTS[1:]:
        if operator is OWN_STEP:
            yield from ((operator, {"step": step, **right}, {"number": step}) for step in OWN_STEPS)
        else:
            yield operator, right, points


def _arguments(trial: Trial) -> tuple[Callable[[Any], Any], Any, torch.Tensor | None, float] | None:
    """The function, the point, the weights and the step, if these are what the routine takes."""
    values = list(trial.inputs.values())
    if len(values) not in (3, 4) or not callable(values[0]) or type(values[-1]) is not float:
        return None
    tensors = all(isinstance(value, torch.Tensor) for value in values[1:-1])
    if not tensors and (len(values) == 4 or type(values[1]) is not float):
        return None
    return values[0], values[1], values[2] if len(values) == 4 else None, values[-1]


def _places(trial: Trial) -> tuple[float, float] | None:
    """Where the right answer takes the function, if it is a difference quotient."""
    known, right = _arguments(trial), next(iter(trial.expected.values()))
    if known is None or right is None:
        return None
    one = Quotient(*known)
    for ahead in PLACES:
        for behind in (place for place in PLACES if place < ahead):
            try:
                quotient = one.rise(ahead, behind) / ((ahead - behind) * one.h)
            except IMPOSSIBLE:
                return None
            if quotient.shape == right.shape and scaled_error(quotient, right) < EXACT:
                return ahead, behind
    return None
