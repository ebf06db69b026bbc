"""One trial of an exercise: the arguments of one call of the learner's function, and its right answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

IMPOSSIBLE = (RuntimeError, ValueError, LookupError, TypeError, ArithmeticError)
"""The exceptions of a computation that some arrays or options do not admit."""


@dataclass(frozen=True)
class Trial:
    """Hold the arguments of one call of the learner's function, and all that the grader knows about the call.

    Args:
        setting: the axis sizes, and a phrase for them.
        arguments: the learner's arguments in order; arrays as `Array`, the output with the upstream gradient as `g`.
        expected: the right array of each answer in float64; `None` where nothing may be stored.
        inputs: the arguments of the forward pass; arrays as float64 tensors.
        out: the output, float64; `None` for a routine.
        out_g: the upstream gradient, float64, shaped like `out`.
        metered: whether the worker measures the work and the peak memory of the call.
        memo: values computed from this trial, by key; see `remember`.
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
        """Return the value of `compute()`, which is called at most once for each key.

        Args:
            key: what is computed, such as ("rounding", "w.g"); any hashable value.
            compute: a function without parameters.

        Raises:
            ValueError: `compute()` raised an exception that is in `IMPOSSIBLE`, now or for an earlier call.
        """
        if key not in self.memo:
            try:
                self.memo[key] = compute()
            except IMPOSSIBLE as error:
                self.memo[key] = _Failure(str(error))
        value = self.memo[key]
        if isinstance(value, _Failure):
            raise ValueError(value.message)
        return value

    @property
    def entries(self) -> int:
        """Return the number of entries of all array arguments."""
        return sum(value.values.size for value in self.arguments.values() if isinstance(value, Array))

    @property
    def largest_size(self) -> int:
        """Return the number of entries of the largest array or list among the arguments; 1 if there is none."""
        sizes = (
            value.values.size if isinstance(value, Array) else len(value)
            for value in self.arguments.values()
            if isinstance(value, (Array, list))
        )
        return max(sizes, default=1)

    def axes(self, name: str) -> Axes | None:
        """Return the names of the axes of an argument; `None` where it is no array."""
        argument = self.arguments.get(name)
        return argument.axes if isinstance(argument, Array) else None

    def right(self, answer: Answer) -> np.ndarray:
        """Return the right array of an answer; a zero of shape () where nothing may be stored."""
        expected = self.expected[answer.name]
        return np.zeros(()) if expected is None else expected

    def prior(self, answer: Answer) -> np.ndarray | None:
        """Return the `.g` that an argument had before the call, which the answer must add to; `None` without one."""
        return prior_gradient(answer, self.arguments)

    def new(self, answer: Answer) -> np.ndarray:
        """Return the right array of an answer without the prior gradient that is included in it."""
        prior = self.prior(answer)
        return self.right(answer) if prior is None else self.right(answer) - prior


@dataclass(frozen=True)
class _Failure:
    """The message of an exception, without the exception itself, which would keep every frame that it has passed."""

    message: str


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

    def without_prior(self, answer: Answer) -> Sample:
        """Return the sample without the prior gradient of an answer in its two arrays; unchanged if there is none.

        Args:
            answer: the answer; the learner's array must have the right shape.
        """
        prior = self.trial.prior(answer)
        return self if prior is None else self._replace(given=self.given - prior, expected=self.expected - prior)

    @property
    def in_double(self) -> Sample:
        """Return the sample with the learner's array in float64; of a complex array with its real part."""
        return self._replace(given=self.given.real.astype(np.float64))

    @property
    def is_finite(self) -> bool:
        """Return whether no entry of the learner's array is inf or nan."""
        return bool(np.isfinite(self.given).all())


Samples = Sequence[Sample]  # of one answer, one for each trial


def sample_of(answer: Answer, trial: Trial, given: np.ndarray) -> Sample:
    """Return the sample of an answer in a trial in which the learner's array is `given`."""
    return Sample(trial, given, trial.right(answer))


def prior_gradient(answer: Answer, arguments: Mapping[str, Any]) -> np.ndarray | None:
    """Return the `.g` that the argument of a stored answer has before the call; `None` if it has none."""
    argument = arguments.get(answer.wrt)
    return argument.g if answer.stored and isinstance(argument, Array) else None


def options(trial: Trial) -> dict[str, Any]:
    """Return the arguments that are whole numbers, truth values or tuples, by name."""
    return {name: value for name, value in trial.arguments.items() if type(value) in (int, bool, tuple)}


def describe_options(trial: Trial) -> str:
    """Return the options and the requested gradients of a trial in words, such as `dim is 1 and needs is {'w'}`.

    The text is empty where there are none.
    """
    described = options(trial) | request_texts(trial)
    return " and ".join(f"{name} is {value}" for name, value in described.items())


def when_requested(trial: Trial) -> str:
    """Return " when `wrt` is {'x'}" for a trial that asks for some gradients only; otherwise an empty text."""
    return "".join(f" when `{name}` is {value}" for name, value in request_texts(trial).items())


def request_texts(trial: Trial) -> dict[str, str]:
    """Return by name the arguments that ask for some gradients only, written as Python sets: `{"needs": "{'w'}"}`.

    The result is empty for a trial without such an argument.
    """
    sets = {name: value for name, value in trial.arguments.items() if isinstance(value, frozenset)}
    return {
        name: f"{{{', '.join(repr(argument) for argument in trial.arguments if argument in value)}}}"
        for name, value in sets.items()
    }


def requested_gradients(arguments: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the names whose gradients a call asks for; `None` where the exercise has no such argument."""
    return next((value for value in arguments.values() if isinstance(value, frozenset)), None)
