"""Slips in a difference quotient: where the function is taken, what joins its values, what they are divided by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.reference.compare import scaled_error
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial

EXACT = 1e-9
# How many steps away from x a function may have been taken.
PLACES: Mapping[float, str] = {
    -2: "x - 2h", -1: "x - h", -0.5: "x - h / 2", 0: "x", 0.5: "x + h / 2", 1: "x + h", 2: "x + 2h",
}  # fmt: skip
OWN_STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)
Of = Callable[["Quotient"], np.ndarray]


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


def candidates(trial: Trial) -> Iterator[Candidate]:
    """Every slip in a difference quotient; nothing where the right answer is none.

    Args:
        trial: the first trial.
    """
    found = _places(trial)
    if found is None:
        return
    ahead, behind = found
    for code, says, change in _slips(ahead, behind):
        yield Candidate(code, says, partial(_remembered, change, ahead, behind))


def _remembered(change: Of, ahead: float, behind: float, trial: Trial) -> np.ndarray:
    found: np.ndarray = trial.remember(change, lambda: _compute(change, ahead, behind, trial))
    return found


def _compute(change: Of, ahead: float, behind: float, trial: Trial) -> np.ndarray:
    known = _arguments(trial)
    if known is None:
        raise ValueError("this trial has no function to take a quotient of")
    with np.errstate(all="ignore"):
        return change(Quotient(*known, ahead, behind))


def _slips(ahead: float, behind: float) -> Iterator[tuple[str, str, Of]]:
    right = f"{PLACES[ahead]} and {PLACES[behind]}"
    for p in PLACES:
        for q in (q for q in PLACES if q < p and (p, q) != (ahead, behind)):
            says = f"f is taken at {PLACES[p]} and {PLACES[q]}, not at {right}"
            yield "wrong-point", says, partial(_between, p, q, p - q)
            yield "wrong-point", says, partial(_between, p, q, ahead - behind)
    yield "wrong-point", "f is taken at h, where the step begins at x", partial(_second_taken_at, lambda x, h: h)
    says = "h is added to the value of f, where it must be added to x"
    yield "wrong-point", says, lambda one: (one.height(0) + one.h - one.height(behind)) / one.run
    says = f"f is taken at h, not at {PLACES[ahead]}"
    yield "wrong-point", says, partial(_first_taken_at, lambda x, h: h)
    says = "f is taken at x * h: a step is added, not multiplied with"
    yield "wrong-point", says, partial(_first_taken_at, lambda x, h: x * h)
    yield "wrong-sign", "the two heights are added, where their difference belongs", _added
    yield "wrong-sign", "the sign of the rise is lost", lambda one: abs(one.rise(ahead, behind)) / one.run
    for name, divisor in (("x", 0.0), ("x + h", 1.0)):
        says = f"it is divided by {name}; a slope is divided by the step alone"
        yield "wrong-operand", says, partial(_divided, divisor)
    says = "only the second of the two heights is divided: division comes before subtraction"
    yield "wrong-operand", says, lambda one: one.height(ahead) - one.height(behind) / one.run
    says = "only the first of the two heights is divided; all of the rise must be"
    yield "wrong-operand", says, lambda one: one.height(ahead) / one.run - one.height(behind)
    for scale in (1.0, 2.0):
        for power in (1, 2):
            yield "wrong-local", "this is how the slope changes, not the slope", partial(_bend, scale, power)
    says = "the entries that came before are moved as well: the step is never set back"
    yield "wrong-point", says, _never_set_back
    for step in OWN_STEPS:
        says = f"the step is {step:g}, whatever h is"
        yield "hard-coded", says, partial(_with_step, step)
    says = "the step is h times x, where it must be h"
    yield "wrong-point", says, lambda one: one.rise(ahead, behind, one.h * one.x) / one.run
    yield "wrong-point", says, lambda one: one.rise(ahead, behind, one.h * one.x) / (one.run * np.asarray(one.x))
    says = "v is multiplied in once more: it has its place inside the sum, and only there"
    yield "extra-factor", says, _weighted_again
    yield "forward-value", "this is f at x itself, not how it changes", _value


def _between(ahead: float, behind: float, steps: float, one: Quotient) -> np.ndarray:
    return one.rise(ahead, behind) / (steps * one.h)


def _with_step(step: float, one: Quotient) -> np.ndarray:
    slope: np.ndarray = one.rise(one.ahead, one.behind, step) / ((one.ahead - one.behind) * step)
    return slope


def _first_taken_at(place: Callable[[float, float], float], one: Quotient) -> np.ndarray:
    return (_taken_at(place, one) - one.height(one.behind)) / one.run


def _second_taken_at(place: Callable[[float, float], float], one: Quotient) -> np.ndarray:
    return (one.height(one.ahead) - _taken_at(place, one)) / one.run


def _taken_at(place: Callable[[float, float], float], one: Quotient) -> float:
    if not isinstance(one.x, float):
        raise ValueError("this can be done with numbers only")
    return float(one.f(place(one.x, one.h)))


def _added(one: Quotient) -> np.ndarray:
    slope: np.ndarray = (one.height(one.ahead) + one.height(one.behind)) / one.run
    return slope


def _divided(steps: float, one: Quotient) -> np.ndarray:
    slope: np.ndarray = one.rise(one.ahead, one.behind) / (np.asarray(one.x) + steps * one.h)
    return slope


def _bend(scale: float, power: int, one: Quotient) -> np.ndarray:
    bend: np.ndarray = (one.rise(1, 0) - one.rise(0, -1)) / (scale * one.h**power)
    return bend


def _never_set_back(one: Quotient) -> np.ndarray:
    return replace(one, together=True).rise(one.ahead, one.behind) / one.run


def _weighted_again(one: Quotient) -> np.ndarray:
    if one.v is None or one.v.shape != one.x.shape:
        raise ValueError("there are no weights, or not one for each entry of x")
    weighted: np.ndarray = one.rise(one.ahead, one.behind) / one.run * one.v.numpy()
    return weighted


def _value(one: Quotient) -> np.ndarray:
    return np.asarray(one.f(one.x), dtype="float64")


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
