"""The trials of a backward pass: the given inputs, others like them, other sizes where the code takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.errors import SpecError
from grader.exercise import Answer, Exercise
from grader.reference.compare import ATOL_FOR_ZERO, RTOL, scaled_error
from grader.reference.references import autograd_answer, exercise_trial, loss_of, with_upstream
from grader.reference.trial import Trial
from grader.sampling import Array
from grader.shapes import BATCH
from grader.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND, OTHER_UPSTREAM_KIND, Setting

from .axes import Axis, other_sizes
from .code_under_test import Call
from .forward_pass import GIVEN_KIND, SAME_MARKS_KIND, joined, outputs_of, tensor_of
from .redrawing import is_symmetric

LARGEST_FIRST = 400  # entries of the given inputs, up to which they are the ones that findings speak of
SAME_SIZES = (GIVEN_KIND, "other values", SAME_MARKS_KIND, LARGE_UPSTREAM_KIND)
OTHER_SIZES = ("other sizes", "more sizes")
ATTEMPTS = 4
STEPS, AGREEMENT = (1e-5, 1e-3), 1e-3
DIRECTIONS = 3  # nearly all of an error may be at right angles to one of them
ROUNDING, DELICATE = 20.0, 1e-2
NEXT_TO_NOTHING = 1e-10


@dataclass(frozen=True)
class Tried:
    """A trial, with the call of the code under test that belongs to it.

    Args:
        bounds: by answer, the largest scaled error that rounding in the code's own dtype may make.
    """

    trial: Trial
    call: Call
    bounds: Mapping[str, float]


@dataclass(frozen=True)
class Drawing:
    """What trials are drawn from.

    Args:
        forward: as its author wrote it; `exercise` has it with one output.
        given: the inputs of the caller.
        wrt: those that require a gradient in a call.
        precision: the dtype that the code under test works in, `"float32"` or `"float64"`.
    """

    exercise: Exercise
    forward: Callable[..., Any]
    given: Mapping[str, Any]
    axes: Sequence[Axis]
    wrt: tuple[str, ...]
    precision: str

    def trials(self, rng: np.random.Generator, takes: Callable[[Tried], bool]) -> list[Tried]:
        """The given inputs, others, other sizes, another and a large upstream gradient; the one to speak of first.

        Args:
            takes: the code under test does not raise in a trial of other sizes.
        """
        drawn = [self._first(rng, kind, lambda: self.sizes) for kind in SAME_SIZES]
        if any(axis.others for axis in self.axes):
            drawn += [self._first(rng, kind, partial(other_sizes, self.axes, rng), takes) for kind in OTHER_SIZES]
        if any(axis.name == BATCH and 1 in axis.others for axis in self.axes):
            drawn.append(self._first(rng, ONE_KIND, lambda: {**self.sizes, BATCH: 1}, takes))
        found = [one for one in drawn if one is not None]
        if found and found[0].trial.setting.kind == GIVEN_KIND:
            found.append(self._with_other_upstream(found[0], rng))
        return sorted(found, key=_clearness)

    def setting(self, kind: str, sizes: Mapping[str, int] | None = None) -> Setting:
        index = 1  # neither the first trial, in which everything is there, nor a special one
        return Setting(index, kind, self.sizes if sizes is None else sizes)

    @property
    def sizes(self) -> dict[str, int]:
        return {axis.name: axis.size for axis in self.axes}

    def one(self, setting: Setting, rng: np.random.Generator) -> Tried | None:
        """One trial; `None` where the forward pass raises, is not finite, or its gradient is mostly rounding."""
        try:
            return self.tried(exercise_trial(self.exercise, setting, rng))
        except (SpecError, RuntimeError, ValueError, IndexError, TypeError):
            return None

    def tried(self, trial: Trial) -> Tried | None:
        """The trial with its call; `None` where no gradient can be judged in it."""
        assert trial.out is not None
        assert trial.out_g is not None
        arrays = [trial.out.numpy(), *(array for array in trial.expected.values() if array is not None)]
        if not all(np.isfinite(array).all() for array in arrays):
            return None
        trial = replace(
            trial, expected={name: _without_rounding(array, trial) for name, array in trial.expected.items()}
        )
        call = self._call(trial)
        bounds = {answer.name: self._bound(answer, trial, call) for answer in self.exercise.answers}
        return Tried(trial, call, bounds) if max(bounds.values()) <= DELICATE else None

    def with_upstream(self, tried: Tried, upstream: np.ndarray, kind: str) -> Tried | None:
        """The same inputs with this upstream gradient, shaped like the (joined) output."""
        return self.tried(with_upstream(self.exercise, tried.trial, upstream, self.setting(kind)))

    def _with_other_upstream(self, given: Tried, rng: np.random.Generator) -> Tried:
        assert given.trial.out is not None
        upstream = rng.standard_normal(tuple(given.trial.out.shape)).astype("float32")
        return self.with_upstream(given, np.asarray(upstream), OTHER_UPSTREAM_KIND) or given

    def _first(
        self, rng: np.random.Generator, kind: str, sizes: Callable[[], Mapping[str, int]],
        takes: Callable[[Tried], bool] = lambda one: True,
    ) -> Tried | None:  # fmt: skip
        """The first of a few drawn trials that the forward pass, and where asked the code under test, can take."""
        drawn = (self.one(self.setting(kind, sizes()), rng) for _ in range(ATTEMPTS))
        return next((tried for tried in drawn if tried is not None and takes(tried)), None)

    def _call(self, trial: Trial) -> Call:
        """The call in the caller's own dtype; the upstream gradient cut into one for each output."""
        inputs = {}
        for name, value in self.given.items():
            array = trial.arguments.get(name)
            inputs[name] = tensor_of(array, value) if isinstance(array, Array) else value if array is None else array
        with torch.no_grad():
            outputs = outputs_of(self.forward(**inputs))
        assert trial.out_g is not None
        pieces = torch.split(trial.out_g.reshape(-1), [out.numel() for out in outputs])
        out_g = tuple(piece.reshape(out.shape).to(out) for piece, out in zip(pieces, outputs, strict=True))
        return Call(inputs, out_g, self.wrt)

    def _bound(self, answer: Answer, trial: Trial, call: Call) -> float:
        """The tolerance of the dtype, or what the forward pass's own gradient needs in it."""
        expected = trial.expected[answer.name]
        assert expected is not None
        least = RTOL[self.precision] if expected.any() else ATOL_FOR_ZERO[self.precision]
        own = autograd_answer(self.exercise, answer, call.inputs, joined(call.out_g))
        return max(least, ROUNDING * scaled_error(own, expected))


def confirmed(exercise: Exercise, answer: Answer, trial: Trial, rng: np.random.Generator) -> bool:
    """Finite differences of the forward pass along random directions do not speak against its own gradient.

    A symmetric matrix is moved as one. Beside an input, forward may be undefined: that is nothing against it.
    """
    values, right = trial.inputs[answer.wrt].numpy(), trial.expected[answer.name]
    assert right is not None
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    size = float(np.linalg.norm(right) * scale)

    def refutes(direction: np.ndarray, step: float) -> bool:
        try:
            there, here = (
                loss_of(exercise, trial, answer.wrt, np.asarray(values + s * direction)) for s in (step, -step)
            )
        except (RuntimeError, ValueError, IndexError):
            return False
        rounding = 1e-12 * (abs(there) + abs(here)) / step
        return abs((there - here) / (2 * step) - float((right * direction).sum())) > AGREEMENT * size + rounding

    for _ in range(DIRECTIONS):
        direction = np.asarray(scale * rng.standard_normal(values.shape))
        if is_symmetric(values):
            direction = (direction + direction.swapaxes(-1, -2)) / 2
        if all(refutes(direction, step) for step in STEPS):
            return False
    return True


def _clearness(one: Tried) -> tuple[bool, bool]:
    """What findings speak of best comes first: sizes that tell the axes apart, and few entries."""
    sizes = list(one.trial.setting.sizes.values())
    sizes += [sum(g.numel() for g in one.call.out_g)] if len(one.call.out_g) > 1 else []  # that of the joined output
    entries = sum(value.values.size for value in one.trial.arguments.values() if isinstance(value, Array))
    return len(set(sizes)) < len(sizes) or 1 in sizes, entries > LARGEST_FIRST


def _without_rounding(array: np.ndarray | None, trial: Trial) -> np.ndarray | None:
    """Zeros for a gradient that is nothing but rounding."""
    assert trial.out_g is not None
    least = NEXT_TO_NOTHING * max(1.0, float(trial.out_g.abs().max()))
    nothing = array is not None and float(np.abs(array).max(initial=0.0)) <= least
    return np.zeros_like(array) if nothing else array
