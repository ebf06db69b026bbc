"""Slips in a difference quotient: where the function is taken, what joins its values, what they are divided by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
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
PAIRS = tuple((ahead, behind) for ahead in PLACES for behind in PLACES if behind < ahead)
OWN_STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)


@dataclass(frozen=True)
class Quotient:
    """A difference quotient in one trial: its arguments, and the two places of the right one."""

    f: Callable[[Any], Any]
    x: Any  # a float, or a tensor that is moved entry by entry
    v: torch.Tensor | None  # weights of the function's values, if there are any
    h: float
    ahead: float = 0  # where the first height is taken, in steps from x
    behind: float = 0  # where the second is
    together: bool = False  # with each entry those before it are moved, too

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
        """The function's value with x moved by `place` steps, each `h` or `step`, once for each entry of x."""
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


def _slip(name: str, code: str, change: Callable[..., Any]) -> Operator:
    def rule(end: End, right: tuple[float, float], **chosen: Any) -> np.ndarray:
        quotient = Quotient.of(end.trial, *right)
        if quotient is None:
            raise ValueError("this trial has no function to take a quotient of")
        with np.errstate(all="ignore"):
            return np.asarray(change(quotient, **chosen))

    return Operator(name, code, rule, kind=Kind.END)


OTHER_PLACES = _slip("function-at-other-places", "wrong-point", lambda q, p, r, run: q.rise(p, r) / (run * q.h))
OWN_STEP = _slip("own-step", "hard-coded", lambda q, step: q.right_rise(step) / ((q.ahead - q.behind) * step))
QUOTIENTS = (
    _slip("second-at-h", "wrong-point", lambda q: (q.height(q.ahead) - q.at(q.h)) / q.run),
    _slip("h-added-to-value", "wrong-point", lambda q: (q.height(0) + q.h - q.height(q.behind)) / q.run),
    _slip("first-at-h", "wrong-point", lambda q: (q.at(q.h) - q.height(q.behind)) / q.run),
    _slip("step-multiplied", "wrong-point", lambda q: (q.at(q.x * q.h) - q.height(q.behind)) / q.run),
    _slip("heights-added", "wrong-sign", lambda q: (q.height(q.ahead) + q.height(q.behind)) / q.run),
    _slip("sign-of-rise-lost", "wrong-sign", lambda q: abs(q.right_rise()) / q.run),
    _slip("divided-by-x", "wrong-operand", lambda q: q.right_rise() / np.asarray(q.x)),
    _slip("divided-by-x-and-h", "wrong-operand", lambda q: q.right_rise() / (np.asarray(q.x) + q.h)),
    _slip("only-second-divided", "wrong-operand", lambda q: q.height(q.ahead) - q.height(q.behind) / q.run),
    _slip("only-first-divided", "wrong-operand", lambda q: q.height(q.ahead) / q.run - q.height(q.behind)),
    _slip("change-of-slope", "wrong-local", lambda q: (q.rise(1, 0) - q.rise(0, -1)) / q.h),
    _slip("change-of-slope", "wrong-local", lambda q: (q.rise(1, 0) - q.rise(0, -1)) / q.h**2),
    _slip("change-of-slope", "wrong-local", lambda q: (q.rise(1, 0) - q.rise(0, -1)) / (2 * q.h)),
    _slip("change-of-slope", "wrong-local", lambda q: (q.rise(1, 0) - q.rise(0, -1)) / (2 * q.h**2)),
    _slip("step-never-set-back", "wrong-point", lambda q: replace(q, together=True).right_rise() / q.run),
    OWN_STEP,
    _slip("step-times-x", "wrong-point", lambda q: q.right_rise(q.h * q.x) / q.run),
    _slip("step-times-x", "wrong-point", lambda q: q.right_rise(q.h * q.x) / (q.run * np.asarray(q.x))),
    _slip("weighted-twice", "extra-factor", lambda q: q.right_rise() / q.run * q.weights),
    _slip("function-itself", "forward-value", lambda q: np.asarray(q.f(q.x), dtype="float64")),
)  # fmt: skip


def quotient_choices(trial: Trial) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Operator, parameters, what is told; nothing where the right answer is no difference quotient."""
    right = _places(trial)
    if right is None:
        return
    points = {"ahead": PLACES[right[0]], "behind": PLACES[right[1]]}
    for p, r in PAIRS:
        for run in (p - r, right[0] - right[1]) if (p, r) != right else ():
            told = {"p": PLACES[p], "q": PLACES[r], **points}
            yield OTHER_PLACES, {"p": p, "r": r, "run": run, "right": right}, told
    for operator in QUOTIENTS:
        for step in OWN_STEPS if operator is OWN_STEP else ():
            yield operator, {"step": step, "right": right}, {"number": step}
        if operator is not OWN_STEP:
            yield operator, {"right": right}, points


def _places(trial: Trial) -> tuple[float, float] | None:
    """Where the right answer takes the function, if it is a difference quotient."""
    quotient, right = Quotient.of(trial), next(iter(trial.expected.values()))
    if quotient is None or right is None:
        return None
    for ahead, behind in PAIRS:
        try:
            found = quotient.rise(ahead, behind) / ((ahead - behind) * quotient.h)
        except IMPOSSIBLE:
            return None
        if found.shape == right.shape and scaled_error(found, right) < EXACT:
            return ahead, behind
    return None
