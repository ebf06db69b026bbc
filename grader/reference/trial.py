"""One trial of an exercise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grader.course.exercise import Answer
from grader.course.sampling import Array
from grader.course.shapes import Axes
from grader.course.trial_sizes import Setting

from .compare import agrees

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Trial:
    """What the learner's function is called with, and everything the grader knows about the call.

    Args:
        setting: the axis sizes, and a phrase for them.
        arguments: the learner's arguments in order; arrays as `Array`, the output with `g` = upstream.
        expected: the right array of each answer in float64; `None` where nothing may be stored.
        inputs: the forward pass's arguments; arrays as float64 tensors.
        out: the output, float64; `None` for a routine.
        out_g: the upstream gradient, float64, shaped like `out`.
        metered: the worker is to measure work and peak memory.
        memo: arrays computed from this trial once and kept (candidate explanations, the traced graph).
    """

    setting: Setting
    arguments: Mapping[str, Any]
    expected: Mapping[str, np.ndarray | None]
    inputs: Mapping[str, Any]
    out: torch.Tensor | None = None
    out_g: torch.Tensor | None = None
    metered: bool = False
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The value of `compute()`, computed at most once for this key; so are the errors in `IMPOSSIBLE`."""
        if key not in self.memo:
            try:
                self.memo[key] = compute()
            except IMPOSSIBLE as error:
                self.memo[key] = _Failed(Vague if isinstance(error, Vague) else ValueError, str(error))
        found = self.memo[key]
        if isinstance(found, _Failed):
            raise found.kind(found.says)
        return found

    @property
    def entries(self) -> int:
        """How many entries its arguments have."""
        return sum(value.values.size for value in self.arguments.values() if isinstance(value, Array))

    def axes(self, name: str) -> Axes | None:
        """The axis names of an array argument."""
        argument = self.arguments.get(name)
        return argument.axes if isinstance(argument, Array) else None


class Sample(NamedTuple):
    """One answer in one trial: the learner's array and the right one.

    Args:
        trial: the trial.
        given: the learner's array, of any shape.
        expected: the right array; 0, of shape (), where nothing may be stored.
    """

    trial: Trial
    given: np.ndarray
    expected: np.ndarray

    @property
    def has_shape(self) -> bool:
        """Return whether the learner's array has the right shape."""
        return self.given.shape == self.expected.shape

    @property
    def agrees(self) -> bool:
        """Return whether the learner's array is right but for rounding."""
        return agrees(self.given, self.expected)

    @property
    def is_finite(self) -> bool:
        """Return whether no entry of the learner's array is inf or nan."""
        return bool(np.isfinite(self.given).all())


def sample_of(answer: Answer, trial: Trial, given: np.ndarray) -> Sample:
    """Return the sample of an answer in a trial in which the learner's array is `given`."""
    expected = trial.expected[answer.name]
    return Sample(trial, given, np.zeros(()) if expected is None else expected)


def requested_gradients(arguments: Mapping[str, Any]) -> frozenset[str] | None:
    """The set of gradients that a call asks for, if the exercise has such an argument."""
    return next((value for value in arguments.values() if isinstance(value, frozenset)), None)


class Vague(ValueError):
    """Rounding hides what a mistake gives in a trial: whether it was made, other trials must tell."""


IMPOSSIBLE = (RuntimeError, ValueError, LookupError, TypeError, ArithmeticError)


@dataclass(frozen=True)
class _Failed:
    """An error that is remembered: raised anew each time, for an exception keeps every frame that it has passed."""

    kind: type[ValueError]
    says: str
