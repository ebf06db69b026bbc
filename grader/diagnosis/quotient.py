"""Slips in a difference quotient: where the function is taken, what joins its values, what they are divided by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from grader.reference.answer_view import End
from grader.reference.difference_quotient import PLACES, Quotient, place_pairs, places_of_right
from grader.reference.trial import Trial

from .operator import Kind, Operator, Parameters

OWN_STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)


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
    """Operator, parameters, what is told; nothing where the right answer is no difference quotient.

    Args:
        trial: the first trial.
    """
    right = places_of_right(trial)
    if right is None:
        return
    points = {"ahead": PLACES[right[0]], "behind": PLACES[right[1]]}
    for p, r in place_pairs():
        for run in (p - r, right[0] - right[1]) if (p, r) != right else ():
            told = {"p": PLACES[p], "q": PLACES[r], **points}
            yield OTHER_PLACES, {"p": p, "r": r, "run": run, "right": right}, told
    for operator in QUOTIENTS:
        for step in OWN_STEPS if operator is OWN_STEP else ():
            yield operator, {"step": step, "right": right}, {"number": step}
        if operator is not OWN_STEP:
            yield operator, {"right": right}, points
