"""Slips in what is a difference: the gradient of a loss, such as belief less truth, and a difference quotient.

Whoever knows the form of a loss does not go through the operations of the forward pass: their slips are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from grader.reference.answer_view import End
from grader.reference.difference_quotient import PLACES, Quotient, place_pairs, places_of_right
from grader.reference.differences import NOTHING, Function, beliefs_of, difference_of, truths_of
from grader.reference.trace import Trace
from grader.reference.trial import Trial

from .operator import Kind, Operator, Parameters

# Functions that may be taken for one another.
KIN: Mapping[str, Function] = {
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp,
    "softmax along the last axis": lambda x: x.softmax(-1), "softmax along the first axis": lambda x: x.softmax(0),
    "log-softmax": lambda x: x.log_softmax(-1),
}  # fmt: skip


def _slip(name: str, code: str, change: Callable[..., torch.Tensor]) -> Operator:
    """A wrong difference in the place of the right one; takes its form, the keys of the belief and the truth."""

    def rule(trace: Trace, wrt: str, form: tuple[str, str], **chosen: Any) -> torch.Tensor:
        found = difference_of(trace, wrt, beliefs_of(trace, wrt)[form[0]], truths_of(trace, wrt)[form[1]])
        if found is None:
            raise ValueError("the gradient is no such difference in this trial")
        gradient = found.factor * change(found, **chosen)
        if not bool(gradient.isfinite().all()):
            raise ValueError("this slip gives no numbers in this trial")
        return gradient

    return Operator(name, code, rule, kind=Kind.SWEEP)


ALWAYS = (
    _slip("truth-added", "wrong-sign", lambda d: d.p + d.t),
    _slip("only-sign-of-difference", "wrong-local", lambda d: (d.p - d.t).sign()),
    _slip("times-belief", "extra-factor", lambda d: d.p * (d.p - d.t)),
    _slip("one-subtracted-everywhere", "wrong-local", lambda d: d.p - 1),
    _slip("factor-on-belief-only", "missing-local", lambda d: d.p - d.t / d.factor),
    _slip("factor-on-truth-only", "missing-local", lambda d: d.p / d.factor - d.t),
    _slip("belief-decided", "wrong-local", lambda d: d.decided - d.t),
)
WHERE_MADE = (
    _slip("function-twice", "wrong-point", lambda d: d.made(d.p) - d.t),
    _slip("function-of-truth", "wrong-operand", lambda d: d.p - d.made(d.t)),
    _slip("squared-error-behind-function", "wrong-local", lambda d: d.through(2 * (d.p - d.t))),
)
WHERE_ONE_HOT = (
    _slip("only-marked-entries", "diagonal-only", lambda d: d.t * (d.p - d.t)),
    _slip("marks-of-all-rows", "broadcast-accident", lambda d: d.p - d.t.amax(0)),
    _slip("numbers-for-marks", "wrong-operand", lambda d: d.p - d.numbers),
    _slip("largest-for-marked", "wrong-operand", lambda d: d.p - d.decided),
    _slip("loss-of-each-row", "forward-value", lambda d: -d.t * d.p.log()),
    _slip("gradient-of-belief", "missing-local", lambda d: -d.t / d.p),
)
OF_KIN, BESIDE_TRUTH = (
    _slip(name, "wrong-local", lambda d, name: KIN[name](d.x) - d.t)
    for name in ("another-function-of-variable", "function-beside-truth")
)
WITHOUT_BELIEF = {"only-sign-of-difference", "times-belief",
                  "factor-on-belief-only", "factor-on-truth-only", "belief-decided",
                  "largest-for-marked", "gradient-of-belief"}  # fmt: skip


def difference_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Operator, parameters, what is told; nothing where the right gradient is no such difference."""
    beliefs, truths = ({}, {}) if trace.upstream_name else (beliefs_of(trace, wrt), truths_of(trace, wrt))
    pairs = ((b, t) for b in beliefs for t in truths if difference_of(trace, wrt, beliefs[b], truths[t]) is not None)
    form = next(pairs, None) if trace.inputs[wrt].numel() > 1 else None
    if form is None:
        return
    belief, truth = beliefs[form[0]], truths[form[1]]
    told = {"belief": belief.name, "truth": truth.name, "function": belief.function, "variable": wrt}
    made, one_hot, alone = belief.made is not None, truth.numbers is not None, form[0] == NOTHING
    for operator in (*ALWAYS, *(WHERE_MADE if made else ()), *(WHERE_ONE_HOT if one_hot else ())):
        if not (alone and operator.name in WITHOUT_BELIEF):
            yield operator, {"form": form}, told
    for name in KIN if made or alone else ():
        yield BESIDE_TRUTH if alone else OF_KIN, {"form": form, "name": name}, {"there": name, **told}


OWN_STEPS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)


def _quotient(name: str, code: str, change: Callable[..., Any]) -> Operator:
    def rule(end: End, right: tuple[float, float], **chosen: Any) -> np.ndarray:
        quotient = Quotient.of(end.trial, *right)
        if quotient is None:
            raise ValueError("this trial has no function to take a quotient of")
        with np.errstate(all="ignore"):
            return np.asarray(change(quotient, **chosen))

    return Operator(name, code, rule, kind=Kind.END)


OTHER_PLACES = _quotient("function-at-other-places", "wrong-point", lambda q, p, r, run: q.rise(p, r) / (run * q.h))
OWN_STEP = _quotient("own-step", "hard-coded", lambda q, step: q.right_rise(step) / ((q.ahead - q.behind) * step))
QUOTIENTS = (
    _quotient("second-at-h", "wrong-point", lambda q: (q.height(q.ahead) - q.at(q.h)) / q.run),
    _quotient("h-added-to-value", "wrong-point", lambda q: (q.height(0) + q.h - q.height(q.behind)) / q.run),
    _quotient("first-at-h", "wrong-point", lambda q: (q.at(q.h) - q.height(q.behind)) / q.run),
    _quotient("step-multiplied", "wrong-point", lambda q: (q.at(q.x * q.h) - q.height(q.behind)) / q.run),
    _quotient("heights-added", "wrong-sign", lambda q: (q.height(q.ahead) + q.height(q.behind)) / q.run),
    _quotient("sign-of-rise-lost", "wrong-sign", lambda q: abs(q.right_rise()) / q.run),
    _quotient("divided-by-x-and-h", "wrong-operand", lambda q: q.right_rise() / (np.asarray(q.x) + q.h)),
    _quotient("only-first-divided", "wrong-operand", lambda q: q.height(q.ahead) / q.run - q.height(q.behind)),
    _quotient("change-of-slope", "wrong-local", lambda q: (q.rise(1, 0) - q.rise(0, -1)) / q.h**2),
    _quotient("change-of-slope", "wrong-local", lambda q: (q.rise(1, 0) - q.rise(0, -1)) / (2 * q.h)),
    _quotient("step-never-set-back", "wrong-point", lambda q: replace(q, together=True).right_rise() / q.run),
    OWN_STEP,
    _quotient("step-times-x", "wrong-point", lambda q: q.right_rise(q.h * q.x) / q.run),
    _quotient("weighted-twice", "extra-factor", lambda q: q.right_rise() / q.run * q.weights),
    _quotient("function-itself", "forward-value", lambda q: np.asarray(q.f(q.x), dtype="float64")),
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
