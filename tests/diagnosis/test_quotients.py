"""Difference quotients that are not the one that was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from grader.course.exercise import Answer
from grader.course.trial_sizes import Setting
from grader.diagnosis.quotients import wrong_quotient
from grader.reference.trial import Sample, Trial

RETURN = Answer("return", "", "value")
Slope = Callable[[float, float], float]


def trial(right: object, **arguments: object) -> Trial:
    return Trial(Setting(0, "a trial", {}), arguments, {"return": np.asarray(right, dtype=np.float64)}, arguments)


def named(*samples: Sample) -> str:
    mistake = wrong_quotient(RETURN, samples)
    return "" if mistake is None else f"{mistake.code}: {mistake.facts[0].says}"


def of_sine(wrong: Slope) -> str:
    """What is said of a wrong answer to the forward difference of the sine."""
    points = [(0.7, 0.2), (1.1, 0.15), (0.4, 0.25)]
    return named(
        *(
            Sample(given, np.asarray(wrong(x, h)), given.expected["return"])
            for x, h in points
            for given in [trial((math.sin(x + h) - math.sin(x)) / h, fun=math.sin, at=x, step=h)]
            if given.expected["return"] is not None
        )
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda x, h: (math.sin(x + h) - math.sin(x - h)) / (2 * h),
         "wrong-point: fun is evaluated at at + step and at - step; it must be evaluated at at + step and at"),
        (lambda x, h: (math.sin(x + 2 * h) - math.sin(x)) / h,
         "wrong-point: fun is evaluated at at + 2 * step and at, and the change divided by step; it must be evaluated"
         " at at + step and at"),
        (lambda x, h: (math.sin(x + h) + math.sin(x)) / h,
         "wrong-sign: the two values of fun are added; one must be subtracted from the other"),
        (lambda x, h: (math.sin(x + h) - math.sin(h)) / h,
         "wrong-point: the value that is subtracted is fun at step; it must be fun at at"),
        (lambda x, h: (math.sin(h) - math.sin(x)) / h,
         "wrong-point: fun is evaluated at step; it must be evaluated at at + step"),
        (lambda x, h: (math.sin(x * h) - math.sin(x)) / h,
         "wrong-point: fun is evaluated at at * step; it must be evaluated at at + step"),
        (lambda x, h: (math.sin(x + 1) - math.sin(x)) / 1, "hard-coded: the step is 1, whatever step is"),
        (lambda x, h: (math.sin(x + 3e-6) - math.sin(x)) / 3e-6,
         "hard-coded: the step is a tiny number, whatever step is"),
        (lambda x, h: math.sin(x + h) - math.sin(x),
         "missing-local: the change of fun is not divided by step"),
        (lambda x, h: math.sin(x), "forward-value: this is the value of fun at at; it must be the slope there"),
        (lambda x, h: (math.sin(x + h) - math.sin(x)) / h, ""),
        (lambda x, h: x * h, ""),
    ],
)  # fmt: skip
def test_a_wrong_quotient_of_a_number_is_named(wrong: Slope, sentence: str) -> None:
    assert of_sine(wrong) == sentence


@pytest.mark.parametrize("step", [1e-7, 1e-6, 1e-5, 1e-4])
def test_a_tiny_step_is_named_where_the_curve_is_nearly_level(step: float) -> None:
    """There the slopes that two tiny steps measure differ by much, in proportion to them."""
    x, h = 1.57, 0.2
    given = trial((math.sin(x + h) - math.sin(x)) / h, f=math.sin, x=x, h=h)
    sample = Sample(given, np.asarray((math.sin(x + step) - math.sin(x)) / step), np.asarray(given.expected["return"]))
    assert named(sample) == "hard-coded: the step is a tiny number, whatever h is"


def of_squares(wrong: Callable[[Callable[[Tensor], Tensor], Tensor, Tensor, float], Tensor]) -> str:
    """What is said of a wrong answer to a vector-Jacobian product that is measured by central differences."""
    generator, samples = torch.Generator().manual_seed(0), []
    for size, h in ((3, 0.125), (4, 0.25)):
        x, v = (torch.randn(size, generator=generator, dtype=torch.float64) for _ in range(2))
        right = measured(lambda at, v=v: (coupled(at) * v).sum(), x, h)  # type: ignore[misc]
        given = trial(right, f=coupled, x=x, v=v, h=h)
        samples.append(Sample(given, wrong(coupled, x, v, h).numpy(), right.numpy()))
    return named(*samples)


def coupled(x: Tensor) -> Tensor:
    return x**3 + x.sum() * x


def measured(f: Callable[[Tensor], Tensor], x: Tensor, h: float, kept: bool = False) -> Tensor:
    """The gradient by central differences; with `kept` no step is taken back."""
    slopes, moved = torch.zeros_like(x), torch.zeros_like(x)
    for i in range(len(x)):
        step = torch.zeros_like(x)
        step[i] = h
        moved = moved + step
        by = moved if kept else step
        slopes[i] = (f(x + by) - f(x - by)) / (2 * h)
    return slopes


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda f, x, v, h: measured(lambda at: f(at).sum(), x, h),
         "missing-upstream: v is not used: all outputs have the same weight"),
        (lambda f, x, v, h: measured(lambda at: f(at).sum(), x, h) * v,
         "elementwise-for-matmul: the outputs are added first, and the sum is multiplied by v; multiply each output by"
         " its weight, then add"),
        (lambda f, x, v, h: measured(lambda at: (f(at) * v).sum(), x, h) * v,
         "extra-factor: the result is multiplied by v once more; v must be used only inside the sum"),
        (lambda f, x, v, h: measured(lambda at: (f(at) * f(x)).sum(), x, h),
         "value-for-gradient: every output is weighted by its own value in place of v"),
        (lambda f, x, v, h: measured(lambda at: (f(at) * v).sum(), x, h, kept=True),
         "wrong-point: when an entry is nudged, the entries before it are still nudged: their nudges are never undone"),
    ],
)  # fmt: skip
def test_a_wrong_quotient_of_an_array_is_named(
    wrong: Callable[[Callable[[Tensor], Tensor], Tensor, Tensor, float], Tensor], sentence: str
) -> None:
    assert of_squares(wrong) == sentence


@pytest.mark.parametrize("x", [0.7, "x"])
def test_what_is_no_difference_quotient_has_no_such_slips(x: object) -> None:
    given = trial(5.0, f=math.sin, x=x, h=0.1)
    assert named(Sample(given, np.asarray(2.0), np.asarray(5.0))) == ""
