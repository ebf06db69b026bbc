"""Trials made by hand: an answer with random numbers, and nothing that it is derived from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from grader.course.exercise import Answer
from grader.course.sampling import Array
from grader.course.trial_sizes import Setting
from grader.reference.trial import Sample, Trial, sample_of

ANSWER = Answer("w.g", "w")
SIZES = ({"bs": 7, "n": 5}, {"bs": 3, "n": 4}, {"bs": 1, "n": 6}, {"bs": 4, "n": 4})
KINDS = ("pairwise different sizes", "other sizes", "a batch of one", "a square case")
Change = Callable[[Trial, np.ndarray], Any]
Right = Callable[[np.ndarray], np.ndarray]


def trials(axes: tuple[str, ...] = ("bs", "n"), right: Right = lambda r: r, **extra: Sequence[Any]) -> list[Trial]:
    """Four trials whose answer has these axes; extra arguments take one value in each."""
    rng = np.random.default_rng(0)
    drawn = []
    for i, (sizes, kind) in enumerate(zip(SIZES, KINDS, strict=True)):
        shape = tuple(sizes[axis] for axis in axes)
        expected, values, out = (rng.standard_normal(shape) for _ in range(3))
        arguments = {"w": Array(values, axes), **{name: value[i] for name, value in extra.items()}}
        inputs, upstream = {"w": torch.from_numpy(values)}, torch.from_numpy(out + 1)
        setting = Setting(i, kind, sizes)
        drawn.append(Trial(setting, arguments, {"w.g": right(expected)}, inputs, torch.from_numpy(out), upstream))
    return drawn


def samples_of(
    change: Change, axes: tuple[str, ...] = ("bs", "n"), right: Right = lambda r: r, **extra: Any
) -> list[Sample]:
    """Return a sample in each of the trials: `change` and `right` make its two arrays of random numbers."""
    plain = trials(axes, **extra)
    samples = []
    for trial, other in zip(plain, trials(axes, right, **extra), strict=True):
        numbers = trial.expected["w.g"]
        assert numbers is not None
        samples.append(sample_of(ANSWER, other, np.asarray(change(other, numbers))))
    return samples
