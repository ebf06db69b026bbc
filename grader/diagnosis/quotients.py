"""Recognises a wrong difference quotient: one of other points, or one that divides the difference by something wrong.

A function that measures a slope has no backward pass, so that its mistakes are no edits of a program. An offset is the
number of steps h from the point x to where the function is taken: 1 for f(x + h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from grader.course.exercise import Answer
from grader.program.operation import Array
from grader.reference.compare import MATCH, scaled_error
from grader.reference.trial import IMPOSSIBLE, Sample, Samples, Trial

from .mistake import Fact, Mistake

EXACT = 1e-9  # how nearly the right answer must be a quotient, in proportion to it
OFFSETS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)  # how many steps away from x a function may have been taken


@dataclass(frozen=True)
class Quotient:
    """The right difference quotient in one trial: its arguments, and the offsets of its two function values.

    Args:
        f: the function.
        x: the point: a float, or a tensor that is moved entry by entry.
        v: the weights with which the values of the function are summed; `None` where it returns one number.
        h: the step.
        ahead: the offset of the first function value, in steps from x: 1 for f(x + h).
        behind: the offset of the second function value, which is subtracted.
        together: whether the entries of x before the moved one are moved as well, as a mistake has it.
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
        """Return the quotient (f(x + ahead h) - f(x + behind h)) / ((ahead - behind) h) with the inputs of a trial.

        Args:
            trial: a trial of a routine that takes a function f, a point x, perhaps weights v, and a step h. With v,
                f gives several values, which are summed with these weights. Of an array x, each entry is moved alone.
            ahead: the offset of the first function value, in steps from x.
            behind: the offset of the second one, which is subtracted.

        Returns:
            `None` for a routine that takes anything else.
        """
        values = list(trial.inputs.values())
        if len(values) not in (3, 4) or not callable(values[0]) or type(values[-1]) is not float:
            return None
        f, x, *v, h = values
        if not all(isinstance(value, torch.Tensor) for value in (x, *v)) and (v or type(x) is not float):
            return None
        return cls(f, x, v[0] if v else None, h, ahead, behind)

    def height(self, offset: float, step: Any = None) -> Any:
        """Return f(x + offset * step), a number for each entry of x.

        For a tensor x the number for an entry is the function's value if this entry alone is moved. For a function that
        returns several values it is their sum with the weights v.

        Args:
            offset: by how many steps x is moved: 1 for f(x + h).
            step: the step in place of `h`: a number, or one for each entry of x; `None` for h.

        Returns:
            Shape: that of x.
        """
        move = offset * (self.h if step is None else step)
        if isinstance(self.x, float):
            return np.asarray(float(self.f(self.x + move)))
        moved = torch.eye(self.x.numel(), dtype=self.x.dtype) * torch.as_tensor(move).flatten()
        heights = [self.f(self.x + row.view(self.x.shape)) for row in (moved.cumsum(0) if self.together else moved)]
        numbers = [float(value if self.v is None else (value * self.v).sum()) for value in heights]
        return np.array(numbers).reshape(self.x.shape)

    def at(self, point: float) -> float:
        """Return f(point): the function's value at a given number in place of x.

        Raises:
            ValueError: x is no number.
        """
        if not isinstance(self.x, float):
            raise ValueError("this can be done with numbers only")
        return float(self.f(point))

    def rise(self, ahead: float, behind: float, step: Any = None) -> Any:
        """Return f(x + ahead * step) - f(x + behind * step) for each entry of x; see `height`.

        Args:
            ahead: the offset of the first function value: 1 for f(x + h).
            behind: the offset of the second one: 0 for f(x).
            step: the step in place of `h`; `None` for h.

        Returns:
            Shape: that of x.
        """
        return self.height(ahead, step) - self.height(behind, step)

    def right_rise(self, step: Any = None) -> Any:
        """Return f(x + ahead * h) - f(x + behind * h): the numerator of the right difference quotient.

        Args:
            step: replaces h; `None` keeps it.

        Returns:
            Shape: that of x.
        """
        return self.rise(self.ahead, self.behind, step)

    @property
    def run(self) -> float:
        """Return (ahead - behind) * h, the distance between the right two points: 2 h for the offsets 1 and -1."""
        return (self.ahead - self.behind) * self.h

    @property
    def weights(self) -> np.ndarray:
        """Return the weights v as an array shaped like x.

        Raises:
            ValueError: there are none, or they have another shape than x.
        """
        if self.v is None or self.v.shape != self.x.shape:
            raise ValueError("there are no weights, or not one for each entry of x")
        return self.v.numpy()


def offset_pairs() -> Iterator[tuple[float, float]]:
    """Yield every two of `OFFSETS` as (ahead, behind), with ahead > behind: (1, 0) stands for f(x + h) - f(x)."""
    return ((ahead, behind) for ahead in OFFSETS for behind in OFFSETS if behind < ahead)


def offsets_of_right(trial: Trial) -> tuple[float, float] | None:
    """Return the two offsets (ahead, behind) at which the right answer of a trial takes the function: (1, 0), say.

    They are found by trying: the right answer is then (f(x + h) - f(x)) / h but for rounding.

    Returns:
        `None` where the answer is no difference quotient with two of `OFFSETS`.
    """
    quotient, right = Quotient.of(trial), next(iter(trial.expected.values()))
    if quotient is None or right is None:
        return None
    for ahead, behind in offset_pairs():
        try:
            slope = quotient.rise(ahead, behind) / ((ahead - behind) * quotient.h)
        except IMPOSSIBLE:
            return None
        if slope.shape == right.shape and scaled_error(slope, right) < EXACT:
            return ahead, behind
    return None


TINY_STEPS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # what may be typed in: the slopes they measure are nearly the same
OWN_STEPS = (1e-3, 1e-2, 0.1, 0.5, 1.0)  # what may be typed in besides: each measures another slope


@dataclass(frozen=True)
class Slip:
    """A wrong difference quotient, such as one that is not divided by the step.

    Args:
        name: the name of the fact.
        code: the public code.
        message: a clause about the answer, with fields: `{f}`, `{x}`, `{v}` and `{h}` are the learner's names of the
            function, the point, the weights and the step, `{ahead}` and `{behind}` the two points at which the function
            must be taken, `{run}` their distance, and `{count}` that distance in steps.
        of: takes the right quotient of a trial, and returns the wrong one's value, shaped like x.
    """

    name: str
    code: str
    message: str
    of: Callable[[Quotient], object]


def _slope(quotient: Quotient) -> Array:
    """Return the value of a right quotient, such as (f(x + h) - f(x)) / h, for each entry of x."""
    return np.asarray(quotient.right_rise() / quotient.run)


def _function_value(quotient: Quotient) -> Array:
    """Return f(x), which stands in place of the quotient; shape: that of f's value."""
    return np.asarray(quotient.f(quotient.x), dtype=np.float64)


def _weights(quotient: Quotient) -> Array:
    """Return the weights v with which a quotient sums the values of f; shape: that of f(x).

    Raises:
        ValueError: the quotient has none.
    """
    if quotient.v is None:
        raise ValueError("there are no weights")
    return quotient.v.numpy()


def _slope_without_weights(quotient: Quotient) -> Array:
    """Return the quotient without the weights v: (sum(f(x + h)) - sum(f(x))) / h for the offsets 1 and 0.

    There is a number for each entry of x, for which this entry alone is moved.

    Raises:
        ValueError: the quotient has no weights.
    """
    _weights(quotient)
    return _slope(replace(quotient, v=quotient.x.new_ones(quotient.f(quotient.x).shape)))


def _slope_weighted_by_value(quotient: Quotient) -> Array:
    """Return the quotient with f(x) in place of the weights v: sum(f(x) * (f(x + h) - f(x))) / h for offsets 1 and 0.

    There is a number for each entry of x, for which this entry alone is moved.

    Raises:
        ValueError: the quotient has no weights.
    """
    _weights(quotient)
    return _slope(replace(quotient, v=quotient.f(quotient.x)))


def _slope_with_squared_weights(quotient: Quotient) -> Array:
    """Return the quotient with v * v in place of the weights v: sum(v * v * (f(x + h) - f(x))) / h for offsets 1 and 0.

    There is a number for each entry of x, for which this entry alone is moved.

    Raises:
        ValueError: the quotient has no weights.
    """
    _weights(quotient)
    return _slope(replace(quotient, v=quotient.v * quotient.v))  # type: ignore[operator]  # there are weights


SLIPS = (
    Slip("step-missing", "missing-local", "the change of {f} is not divided by {run}",
         lambda q: q.right_rise()),
    Slip("divided-by-one-step", "missing-local",
         "the change of {f} is divided by {h}; it must be divided by {run}",
         lambda q: q.right_rise() / q.h),
    Slip("divided-by-number-of-steps", "missing-local",
         "the change of {f} is divided by {count}; it must be divided by {run}",
         lambda q: q.right_rise() / (q.ahead - q.behind)),
    Slip("second-at-h", "wrong-point", "the value that is subtracted is {f} at {h}; it must be {f} at {behind}",
         lambda q: (q.height(q.ahead) - q.at(q.h)) / q.run),
    Slip("h-added-to-value", "wrong-point", "{h} is added to the value of {f}; it must be added to {x}",
         lambda q: (q.height(0) + q.h - q.height(q.behind)) / q.run),
    Slip("first-at-h", "wrong-point", "{f} is evaluated at {h}; it must be evaluated at {ahead}",
         lambda q: (q.at(q.h) - q.height(q.behind)) / q.run),
    Slip("step-multiplied", "wrong-point", "{f} is evaluated at {x} * {h}; it must be evaluated at {ahead}",
         lambda q: (q.at(q.x * q.h) - q.height(q.behind)) / q.run),
    Slip("heights-added", "wrong-sign", "the two values of {f} are added; one must be subtracted from the other",
         lambda q: (q.height(q.ahead) + q.height(q.behind)) / q.run),
    Slip("sign-of-rise-lost", "wrong-sign", "the absolute value of the difference is used, so that its sign is lost",
         lambda q: abs(q.right_rise()) / q.run),
    Slip("divided-by-x-and-h", "wrong-operand",
         "the change of {f} is divided by {x} + {h}; it must be divided by {run}",
         lambda q: q.right_rise() / (np.asarray(q.x) + q.h)),
    Slip("only-first-divided", "wrong-operand",
         "only the first of the two values is divided; the whole difference must be divided",
         lambda q: q.height(q.ahead) / q.run - q.height(q.behind)),
    Slip("only-second-divided", "wrong-operand",
         "only the second of the two values is divided; the whole difference must be divided",
         lambda q: q.height(q.ahead) - q.height(q.behind) / q.run),
    Slip("change-of-slope", "wrong-local", "this is the rate at which the slope changes; it must be the slope",
         lambda q: (q.rise(1, 0) - q.rise(0, -1)) / q.h**2),
    Slip("difference-of-slopes", "wrong-local",
         "the slope to the left of {x} is subtracted from the slope to the right of {x}",
         lambda q: (q.rise(1, 0) - q.rise(0, -1)) / (2 * q.h)),
    Slip("step-never-set-back", "wrong-point",
         "when an entry is nudged, the entries before it are still nudged: their nudges are never undone",
         lambda q: _slope(replace(q, together=True))),
    Slip("step-times-x", "wrong-point", "the step is {h} times {x}; it must be {h}",
         lambda q: q.right_rise(q.h * q.x) / q.run),
    Slip("weights-missing", "missing-upstream",
         "{v} is not used: all outputs have the same weight", _slope_without_weights),
    Slip("weighted-behind", "elementwise-for-matmul",
         "the outputs are added first, and the sum is multiplied by {v}; multiply each output by its weight, then add",
         lambda q: _slope_without_weights(q) * q.weights),
    Slip("weights-summed", "sum-of-products",
         "the sum of the outputs is multiplied by the sum of {v}; multiply each output by its weight, then add",
         lambda q: _slope_without_weights(q) * _weights(q).sum()),
    Slip("weighted-twice", "extra-factor",
         "the result is multiplied by {v} once more; {v} must be used only inside the sum",
         lambda q: _slope(q) * q.weights),
    Slip("weights-squared", "extra-factor", "every output is weighted by {v} twice", _slope_with_squared_weights),
    Slip("value-for-weights", "value-for-gradient", "every output is weighted by its own value in place of {v}",
         _slope_weighted_by_value),
    Slip("function-itself", "forward-value",
         "this is the value of {f} at {x}; it must be the slope there", _function_value),
    *(Slip("own-step", "hard-coded", f"the step is {number}, whatever {{h}} is",
           lambda q, step=step: q.right_rise(step) / ((q.ahead - q.behind) * step))  # type: ignore[misc]
      for steps, number in ((TINY_STEPS, "a tiny number"), *(((step,), f"{step:g}") for step in OWN_STEPS))
      for step in steps),
)  # fmt: skip


_OF_WEIGHTS = ("What is the vector for? Which numbers must it multiply, and before or after which sum?",)
HINTS: Mapping[str, tuple[str, ...]] = {
    "elementwise-for-matmul": _OF_WEIGHTS,
    "extra-factor": _OF_WEIGHTS,
    "missing-local": (
        "How far apart are the two points? By what does your code divide the change of the function between them?",
    ),
    "missing-upstream": _OF_WEIGHTS,
    "sum-of-products": _OF_WEIGHTS,
    "value-for-gradient": _OF_WEIGHTS,
    "wrong-local": (
        "Which slopes does your code combine, and how? Try a function with the same slope everywhere.",
        "Print each function value that you use, and what you make of it.",
    ),
    "wrong-operand": ("Write down the change of the function, and the distance of the two points. Divide by hand.",),
    "wrong-point": (
        "At which two points must the function be evaluated, and at which does your code evaluate it?",
        "Print every point at which you call the function, for one small input.",
    ),
    "wrong-sign": (
        "Take a function that falls. Which of its two values is larger, and which sign must the slope have?",
    ),
}
"""By public code of a slip: what to ask about a wrong quotient."""


def slips_of_offsets(ahead: float, behind: float) -> Iterator[Slip]:
    """Yield the quotients that take the function at two wrong points, such as (f(x) - f(x - h)) / h, as `Slip`s.

    A `Slip` is a wrong quotient: a function that computes it from the right one, with a name, a code and a message.
    There are two for every two of `OFFSETS` but the right ones: divided by the distance of these points, and by that of
    the right ones; one if the two distances are equal.

    Args:
        ahead: the right offset of the first function value, in steps from x.
        behind: the right offset of the second one.
    """
    for first, second in offset_pairs():
        if (first, second) != (ahead, behind):
            for run in dict.fromkeys((first - second, ahead - behind)):
                yield Slip(
                    "function-at-other-places",
                    "wrong-point",
                    f"{{f}} is evaluated at {_point_text(first)} and {_point_text(second)}"
                    + ("" if run == first - second else ", and the change divided by {run}")
                    + "; it must be evaluated at {ahead} and {behind}",
                    lambda q, first=first, second=second, run=run: q.rise(first, second) / (run * q.h),  # type: ignore[misc]
                )


def _point_text(steps: float) -> str:
    """Return the point at an offset as text with message fields: `{x} + 2 * {h}` for 2, `{x} + {h} / 2` for 0.5.

    `{x} - {h}` for -1, `{x} + 1.5 * {h}` for 1.5, and `{x}` for 0.

    Args:
        steps: the offset, in steps from x.
    """
    size = "" if abs(steps) in (0.5, 1) else f"{abs(steps):g} * "
    half = " / 2" if abs(steps) == 0.5 else ""
    return "{x}" if steps == 0 else f"{{x}} {'+' if steps > 0 else '-'} {size}{{h}}{half}"


def wrong_quotient(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is a certain wrong difference quotient in every trial; `None` where it is none.

    Such as "f is evaluated at x and x - h; it must be evaluated at x + h and x". Of several that fit, one of
    `slips_of_offsets` comes before those of `SLIPS`.

    Args:
        answer: the answer; `None` is returned unless it is a value.
        samples: the answer in each trial.
    """
    right = offsets_of_right(samples[0].trial) if answer.kind == "value" and samples else None
    if right is None:
        return None
    cheapest = sorted(samples, key=lambda sample: sample.expected.size)
    quotients = [(sample, Quotient.of(sample.trial, *right)) for sample in cheapest]
    for slip in (*slips_of_offsets(*right), *SLIPS):
        if _fits(slip, quotients):
            message = slip.message.format(**_message_fields(samples, right))
            return Mistake(slip.code, hints=HINTS.get(slip.code, ()), facts=(Fact(slip.name, {}, message),))
    return None


def _value_of_slip(slip: Slip, quotient: Quotient) -> Array | None:
    """Return the value of a wrong quotient in one trial, shaped like x; `None` where it cannot be computed.

    Args:
        slip: the wrong quotient, as a function of the right one.
        quotient: the right quotient of the trial.
    """
    try:
        with np.errstate(all="ignore"):
            return np.asarray(slip.of(quotient), dtype=np.float64)
    except IMPOSSIBLE:
        return None


def _fits(slip: Slip, quotients: Sequence[tuple[Sample, Quotient | None]]) -> bool:
    """Return whether a wrong quotient gives the learner's arrays in every trial, and differs from the right one in one.

    Args:
        slip: the wrong quotient, as a function of the right one.
        quotients: pairs of the answer in a trial and the right quotient there; False is returned for a `None`.
    """
    apart = False
    for sample, quotient in quotients:
        array = None if quotient is None else _value_of_slip(slip, quotient)
        if array is None or scaled_error(sample.given, array) > MATCH:
            return False
        apart = apart or scaled_error(array, sample.expected) > MATCH
    return apart


def _message_fields(samples: Samples, right: Sequence[float]) -> dict[str, str]:
    """Return the message fields: the learner's names of the arguments, and the two right points as text.

    Such as {"f": "f", "x": "x", "v": "", "h": "h", "ahead": "x + h", "behind": "x", "count": "1", "run": "h"}: `count`
    is their distance in steps, and `run` their distance.

    Args:
        samples: the answer in each trial.
        right: the right offsets, ahead and behind, in steps from x.
    """
    f, x, *weights, h = samples[0].trial.inputs
    names = {"f": f, "x": x, "v": weights[0] if weights else "", "h": h}
    count = f"{right[0] - right[1]:g}"
    return {
        **names,
        "count": count,
        "run": h if count == "1" else f"{count} * {h}",
        "ahead": _point_text(right[0]).format(**names),
        "behind": _point_text(right[1]).format(**names),
    }
