"""The trials of a backward pass: the given inputs, others like them, other sizes where the code takes them.

The right gradients are torch's own for the forward pass; where these are not its derivative, they are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.course.exercise import Answer, Exercise
from grader.course.sampling import Array
from grader.course.shapes import BATCH
from grader.course.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND, OTHER_UPSTREAM_KIND, Setting
from grader.errors import SpecError
from grader.reference import finite_differences
from grader.reference.compare import scaled_error, tolerance
from grader.reference.kinks import NUDGE, AllowedGradient, Move, allowed_gradient
from grader.reference.references import autograd_answer, exercise_trial, loss_of, with_upstream
from grader.reference.trial import IMPOSSIBLE, Trial

from .axes import Axis, other_sizes
from .code_under_test import Call
from .forward_pass import GIVEN_KIND, KEPT_KIND, SAME_MARKS_KIND, floating, joined, outputs_of, tensor_of
from .layouts import EXPANDED, LAYOUTS, laid_out, same_layout
from .redrawing import is_symmetric

LARGEST_FIRST = 400  # entries of the given inputs, up to which they are the ones that findings speak of
SAME_SIZES = (GIVEN_KIND, "other values", SAME_MARKS_KIND, KEPT_KIND, LARGE_UPSTREAM_KIND)
AS_GIVEN = (GIVEN_KIND, OTHER_UPSTREAM_KIND, *LAYOUTS)
OTHER_SIZES = {"other sizes": True, "more sizes": False}  # whether they have the divisors of the given ones
ATTEMPTS = 4
STEPS, AGREEMENT = (1e-7, 1e-5, 1e-3), 1e-3
DIRECTIONS = 3  # nearly all of an error may be at right angles to one of them
ROUNDING, DELICATE = 20.0, 1e-2
NEXT_TO_NOTHING = 1e-10
FINER = 64.0  # a difference beside an input takes so small a part of the way to it
BESIDE = (1e-4, 1e-3)  # how far from an input its neighbours are, in proportion to its largest entry
MOST_MEASURED, MOST_MEASURED_ELSEWHERE = 400, 100  # entries of a gradient that are measured one by one


@dataclass(frozen=True)
class Tried:
    """Hold a trial, with the call of the code under test that belongs to it.

    Args:
        bounds: by answer, the largest scaled error that rounding in the code's own dtype may make.
        allowed: by answer, what is right, at kinks too. `trial` has 0 where there is nothing to compare with.
    """

    trial: Trial
    call: Call
    bounds: Mapping[str, float]
    allowed: Mapping[str, AllowedGradient]


@dataclass(frozen=True)
class Drawing:
    """Draw trials of a backward pass: the given inputs and others like them.

    Args:
        forward: as its author wrote it; `exercise` has it with one output.
        given: the inputs of the caller.
        wrt: those that require a gradient in a call.
        precision: the dtype that the code under test works in, `"float32"` or `"float64"`.
        measured: whether the right gradients are measured by finite differences and not taken from torch.
    """

    exercise: Exercise
    forward: Callable[..., Any]
    given: Mapping[str, Any]
    axes: Sequence[Axis]
    wrt: tuple[str, ...]
    precision: str
    measured: bool = False

    def trials(self, rng: np.random.Generator, takes: Callable[[Tried], bool]) -> list[Tried]:
        """Draw the trials: the given inputs, other values, other sizes, other and large upstream gradients.

        Args:
            takes: whether the code under test does not raise in a trial of other sizes.

        Returns:
            Those that could be drawn, the one to explain findings by first.
        """
        kinds = [kind for kind in SAME_SIZES if kind != KEPT_KIND or self.tables]
        drawn = [self._first(rng, kind, lambda: self.sizes) for kind in kinds]
        if any(axis.others for axis in self.axes):
            for kind, like_given in OTHER_SIZES.items():
                sizes = partial(other_sizes, self.axes, rng, like_given=like_given)
                drawn.append(self._first(rng, kind, sizes, takes))
        if any(axis.name == BATCH and 1 in axis.others for axis in self.axes):
            drawn.append(self._first(rng, ONE_KIND, lambda: {**self.sizes, BATCH: 1}, takes))
        found = [one for one in drawn if one is not None]
        if found and found[0].trial.setting.kind == GIVEN_KIND:
            found += [
                one
                for kind in (OTHER_UPSTREAM_KIND, *LAYOUTS)
                for one in self._with_other_upstream(found[0], kind, rng)
            ]
        return sorted(found, key=clearness)

    def setting(self, kind: str, sizes: Mapping[str, int] | None = None) -> Setting:
        index = 1  # neither the first trial, in which everything is there, nor a special one
        return Setting(index, kind, self.sizes if sizes is None else sizes)

    @property
    def sizes(self) -> dict[str, int]:
        return {axis.name: axis.size for axis in self.axes}

    @property
    def tables(self) -> list[str]:
        """Return the floating-point inputs whose gradients are not judged, and whose values may have to be as given."""
        asked = {answer.wrt for answer in self.exercise.answers}
        return [name for name in floating(self.given) if name not in asked]

    def has_given_sizes(self, tried: Tried) -> bool:
        """Return whether every axis has its given size in a trial."""
        return dict(tried.trial.setting.sizes) == self.sizes

    def counts(self, tried: Tried) -> bool:
        """Return whether a wrong gradient in this trial is a mistake: sizes, and tables if any, are the given ones."""
        as_given = tried.trial.setting.kind in (*AS_GIVEN, KEPT_KIND, LARGE_UPSTREAM_KIND)
        return self.has_given_sizes(tried) and (as_given or not self.tables)

    def trial_of(self, setting: Setting, rng: np.random.Generator) -> Tried | None:
        """Draw one trial; `None` where forward raises or is not finite, or its gradient is mostly rounding."""
        try:
            return self.tried(exercise_trial(self.exercise, setting, rng))
        except (SpecError, RuntimeError, ValueError, IndexError, TypeError):
            return None

    def tried(self, trial: Trial) -> Tried | None:
        """Return a trial with its call, tolerances and allowed gradients; `None` where no gradient can be judged."""
        assert trial.out is not None
        assert trial.out_g is not None
        if not np.isfinite(trial.out.numpy()).all():
            return None
        right, errors = self._measured_gradients(trial) if self.measured else (_arrays(trial.expected), {})
        known = {name: _zero_if_rounding(array, trial) for name, array in right.items()}
        if any(array.size and not np.isfinite(array).any() for array in known.values()):
            return None
        trial = replace(trial, expected={name: _zero_if_not_finite(array) for name, array in known.items()}, memo={})
        call = self._call(trial)
        allowed = {
            answer.name: self._allowed_gradient(answer, trial, known[answer.name]) for answer in self.exercise.answers
        }
        bounds = {
            answer.name: self._tolerance(answer, trial, call, allowed[answer.name], errors)
            for answer in self.exercise.answers
        }
        return Tried(trial, call, bounds, allowed) if max(bounds.values()) <= DELICATE else None

    def _measured_gradients(self, trial: Trial) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        """Measure the gradients of a trial by finite differences of the forward pass.

        Of a large gradient only some entries are measured, and the others are nan.

        Returns:
            By answer, the gradient, shaped like the input, and how far it may be off, as a scaled error.
        """
        found, errors = {}, {}
        most = MOST_MEASURED if trial.setting.kind in AS_GIVEN else MOST_MEASURED_ELSEWHERE
        for answer in self.exercise.answers:
            values = trial.inputs[answer.wrt].numpy()
            places = np.random.default_rng(0).permutation(values.size)[:most]
            entries = [tuple(map(int, np.unravel_index(place, values.shape))) for place in sorted(places)]
            slopes, gaps = finite_differences.measured(
                partial(loss_of, self.exercise, trial, answer.wrt), values, entries
            )
            found[answer.name] = slopes
            largest = float(np.nan_to_num(np.abs(slopes)).max(initial=0.0)) or 1.0
            errors[answer.name] = float(np.nan_to_num(gaps).max(initial=0.0)) / largest
        return found, errors

    def _allowed_gradient(self, answer: Answer, trial: Trial, known: np.ndarray) -> AllowedGradient:
        """Return the gradients that count as right for an answer in a trial.

        Args:
            known: the right gradient at the input, shaped like it; nan where it is not known.
        """
        if not self.measured:
            return replace(allowed_gradient(self.exercise, answer, trial), expected=known)

        values = trial.inputs[answer.wrt].numpy()
        size = NUDGE * (float(np.abs(values).max(initial=0.0)) or 1.0)
        entries = [tuple(map(int, index)) for index in np.argwhere(np.isfinite(known))]
        loss = partial(loss_of, self.exercise, trial, answer.wrt)

        def sample(move: Move) -> np.ndarray | None:
            """Return the gradient, measured at the input moved by `move`; `None` if the move says no values."""
            if move.values is None:
                return None
            beside = np.asarray(values + size * move.values(values.shape))
            return finite_differences.at(loss, beside, entries, size / FINER)

        return AllowedGradient(known, sample)

    def with_upstream(self, tried: Tried, upstream: np.ndarray, kind: str) -> Tried | None:
        """The same inputs with this upstream gradient, shaped like the (joined) output."""
        return self.tried(with_upstream(self.exercise, tried.trial, upstream, self.setting(kind)))

    def _with_other_upstream(self, given: Tried, kind: str, rng: np.random.Generator) -> Iterator[Tried]:
        """Yield the given inputs with another upstream gradient, in the memory layout of this kind of trial.

        Nothing is yielded if such a tensor is contiguous all the same, as one of a single entry is.
        """
        assert given.trial.out is not None
        upstream = rng.standard_normal(tuple(given.trial.out.shape)).astype("float32")
        if kind == EXPANDED:
            upstream = np.full_like(upstream, upstream.flat[0] if upstream.size else 0.0)
        found = self.with_upstream(given, np.asarray(upstream), kind)
        if found is not None and (kind not in LAYOUTS or not all(g.is_contiguous() for g in found.call.out_g)):
            yield found

    def _first(
        self, rng: np.random.Generator, kind: str, sizes: Callable[[], Mapping[str, int]],
        takes: Callable[[Tried], bool] = lambda one: True,
    ) -> Tried | None:  # fmt: skip
        """Return the first of a few drawn trials that forward takes and `takes` accepts; `None` if there is none.

        Args:
            sizes: draws the size of each axis.
            takes: whether the code under test takes a trial.
        """
        drawn = (self.trial_of(self.setting(kind, sizes()), rng) for _ in range(ATTEMPTS))
        return next((tried for tried in drawn if tried is not None and takes(tried)), None)

    def _call(self, trial: Trial) -> Call:
        """Return the call of a trial in the caller's own dtype, with one upstream gradient for each output."""
        inputs, as_given = {}, trial.setting.kind in AS_GIVEN
        for name, value in self.given.items():
            array = trial.arguments.get(name)
            if isinstance(array, Array):
                inputs[name] = same_layout(value) if as_given else tensor_of(array, value)
            else:
                inputs[name] = value if array is None else array
        with torch.no_grad():
            outputs = outputs_of(self.forward(**inputs))
        assert trial.out_g is not None
        pieces = torch.split(trial.out_g.reshape(-1), [out.numel() for out in outputs])
        whole = (piece.reshape(out.shape).to(out) for piece, out in zip(pieces, outputs, strict=True))
        return Call(inputs, tuple(laid_out(g, trial.setting.kind) for g in whole), self.wrt)

    def _tolerance(
        self, answer: Answer, trial: Trial, call: Call, allowed: AllowedGradient, errors: Mapping[str, float]
    ) -> float:
        """Return the largest scaled error that counts as right: that of the dtype, or more where forward's own is off.

        Args:
            errors: by answer, the scaled error of the measured gradient; unused unless gradients are measured.
        """
        expected = trial.expected[answer.name]
        assert expected is not None
        least = tolerance(expected, self.precision)
        if self.measured:
            return max(least, ROUNDING * errors[answer.name])
        own = _zero_if_not_finite(autograd_answer(self.exercise, answer, call.inputs, joined(call.out_g)))
        if ROUNDING * scaled_error(own, expected) > least:  # in its own dtype it may be on the other side of a kink
            compared = allowed.compare(own, least)
            own = np.where(compared.convention | compared.unjudged, expected, own)
        return max(least, ROUNDING * scaled_error(own, expected))


def confirmed(exercise: Exercise, answer: Answer, trial: Trial, rng: np.random.Generator, *, held: bool) -> bool:
    """Return whether finite differences of the forward pass along random directions agree with a trial's gradient.

    Where they do not, the input may lie on a kink: then the gradient at a nearby input has to agree there. A symmetric
    matrix stays symmetric. A nearby input at which forward is undefined is passed over.

    Args:
        held: whether what the forward pass detaches is held constant.
    """
    values, right = trial.inputs[answer.wrt].numpy(), trial.expected[answer.name]
    assert right is not None
    scale = float(np.abs(values).max(initial=0.0)) or 1.0

    def random_direction() -> np.ndarray:
        """Return a random direction, shaped and scaled like the input, symmetric if the input is."""
        direction = np.asarray(scale * rng.standard_normal(values.shape))
        return (direction + direction.swapaxes(-1, -2)) / 2 if is_symmetric(values) else direction

    def loss(moved: np.ndarray) -> float:
        """Return the loss with the input replaced by `moved`."""
        if held:
            return loss_of(exercise, trial, answer.wrt, moved)
        with torch.no_grad():
            out = exercise.run({**trial.inputs, answer.wrt: torch.from_numpy(moved)}, answer.wrt)
            return float((out * trial.out_g).sum())

    assert trial.out is not None
    assert trial.out_g is not None
    terms = float((trial.out * trial.out_g).abs().sum())

    def agrees(start: np.ndarray, gradient: np.ndarray) -> bool:
        """Return whether no random direction at `start` refutes the gradient, an array of the same shape."""
        size = float(np.linalg.norm(gradient) * scale)
        return not any(
            all(_contradicts(loss, start, gradient, direction, step, size, terms) for step in STEPS)
            for direction in (random_direction() for _ in range(DIRECTIONS))
        )

    if agrees(values, right):
        return True
    for distance in BESIDE:
        beside = np.asarray(values + distance * random_direction())
        try:
            gradient = autograd_answer(
                exercise, answer, {**trial.inputs, answer.wrt: torch.from_numpy(beside)}, trial.out_g
            )
        except IMPOSSIBLE:
            continue
        if np.isfinite(gradient).all() and agrees(beside, gradient):
            return True
    return False


def _contradicts(
    loss: Callable[[np.ndarray], float],
    start: np.ndarray,
    gradient: np.ndarray,
    direction: np.ndarray,
    step: float,
    size: float,
    terms: float,
) -> bool:
    """Return whether the loss changes along a direction by more than the gradient and rounding account for.

    Args:
        start: the input; `gradient` and `direction` have its shape.
        step: in multiples of `direction`.
        size: the norm of the gradient times the scale of the input, in proportion to which a deviation is judged.
        terms: the sum of the absolute terms of the loss, whose rounding is allowed for.
    """
    try:
        there, here = (loss(np.asarray(start + s * direction)) for s in (step, -step))
    except IMPOSSIBLE:
        return False
    rounding = 1e-12 * (abs(there) + abs(here) + terms) / step
    return abs((there - here) / (2 * step) - float((gradient * direction).sum())) > AGREEMENT * size + rounding


def _zero_if_not_finite(array: np.ndarray) -> np.ndarray:
    """Return an array with zeros in place of entries that are not finite."""
    return np.where(np.isfinite(array), array, 0.0)


def clearness(one: Tried) -> tuple[bool, bool]:
    """Return a sort key that puts trials first which findings can be explained by.

    That is, first those whose sizes tell the axes apart, and among them those with few entries.
    """
    sizes = list(one.trial.setting.sizes.values())
    sizes += [sum(g.numel() for g in one.call.out_g)] if len(one.call.out_g) > 1 else []  # that of the joined output
    entries = sum(value.values.size for value in one.trial.arguments.values() if isinstance(value, Array))
    return len(set(sizes)) < len(sizes) or 1 in sizes, entries > LARGEST_FIRST


def _arrays(expected: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """Return the arrays that are not `None`, by name."""
    return {name: array for name, array in expected.items() if array is not None}


def _zero_if_rounding(array: np.ndarray, trial: Trial) -> np.ndarray:
    """Return zeros for a gradient that is nothing but rounding, and any other unchanged."""
    assert trial.out_g is not None
    least = NEXT_TO_NOTHING * max(1.0, float(np.abs(trial.out_g.numpy()).max(initial=0.0)))
    nothing = float(np.abs(array).max(initial=0.0)) <= least
    return np.zeros_like(array) if nothing else array
