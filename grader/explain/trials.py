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
from grader.reference.references import autograd_answer, autograd_answers, loss_of, loss_with
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.reference.trials import exercise_trial, with_upstream

from .axes import Axis, other_sizes
from .code_under_test import EXPANDED, LAYOUTS, CodeCall, same_layout, with_layout
from .forward_pass import floating_inputs, join_outputs, outputs_of
from .redrawing import GIVEN_KIND, KEPT_KIND, SAME_MARKS_KIND, is_symmetric, tensor_of

LARGEST_FIRST = 400  # entries of all inputs: trials with no more come before those with more
SAME_SIZES = (GIVEN_KIND, "other values", SAME_MARKS_KIND, KEPT_KIND)
AS_GIVEN = (GIVEN_KIND, OTHER_UPSTREAM_KIND, *LAYOUTS)
OTHER_SIZES = {"other sizes": True, "more sizes": False}  # whether they have the divisors of the given ones
LARGE_FACTOR = 1024.0  # a power of two, which rounding does not depend on
ATTEMPTS = 4
STEPS, AGREEMENT = (1e-7, 1e-5, 1e-3), 1e-3
DIRECTIONS = 3  # nearly all of an error may be orthogonal to one of them
ROUNDING, DELICATE = 20.0, 1e-2
NEXT_TO_NOTHING = 1e-10
FINER = 64.0  # the step of a difference at a nearby input is so many times smaller than the distance to it
DISTANCES = (1e-4, 1e-3)  # of nearby inputs, in proportion to the largest entry of the input
MOST_MEASURED, MOST_MEASURED_ELSEWHERE = 400, 100  # entries of a gradient that are measured one by one


@dataclass(frozen=True)
class CodeTrial:
    """A trial, with the call of the code under test that belongs to it.

    Args:
        trial: inputs, upstream gradient and right gradients in float64. A right gradient is 0 where it is not known.
        call: the same inputs and upstream gradient in the dtypes of the caller.
        bounds: by answer, the largest scaled error that rounding in the code's own dtype may make.
        allowed: by answer, the gradients that count as right, at kinks too.
    """

    trial: Trial
    call: CodeCall
    bounds: Mapping[str, float]
    allowed: Mapping[str, AllowedGradient]


@dataclass(frozen=True)
class Drawing:
    """All that trials of a backward pass are drawn from.

    Args:
        exercise: the forward pass as an exercise with one output, and samplers for its inputs.
        forward: the forward pass itself, which may have several outputs.
        given: the inputs of the caller.
        axes: the axes of the inputs, whose sizes may vary between trials.
        wrt: the inputs that require a gradient in a call.
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

    def trials(self, rng: np.random.Generator, takes: Callable[[CodeTrial], bool]) -> list[CodeTrial]:
        """Draw the trials: the given inputs, other values, other sizes, other and large upstream gradients.

        Args:
            rng: draws inputs, sizes and upstream gradients.
            takes: returns whether the code under test runs in a trial of other sizes without raising.

        Returns:
            Those that could be drawn, the clearest first: see `clearness`.
        """
        kinds = [kind for kind in SAME_SIZES if kind != KEPT_KIND or self.tables]
        drawn = [self._first(rng, kind, lambda: self.sizes) for kind in kinds]
        if any(axis.others for axis in self.axes):
            for kind, like_given in OTHER_SIZES.items():
                sizes = partial(other_sizes, self.axes, rng, like_given=like_given)
                drawn.append(self._first(rng, kind, sizes, takes))
        if any(axis.name == BATCH and 1 in axis.others for axis in self.axes):
            drawn.append(self._first(rng, ONE_KIND, lambda: {**self.sizes, BATCH: 1}, takes))
        trials = [code_trial for code_trial in drawn if code_trial is not None]
        if trials and trials[0].trial.setting.kind == GIVEN_KIND:
            for kind in (OTHER_UPSTREAM_KIND, LARGE_UPSTREAM_KIND, *LAYOUTS):
                trials += self._with_other_upstream(trials[0], kind, rng)
        return sorted(trials, key=clearness)

    def setting(self, kind: str, sizes: Mapping[str, int] | None = None) -> Setting:
        """Return the setting of a trial of this kind, with these sizes by axis name; `None` for the given sizes."""
        index = 1  # neither the first trial, in which everything is there, nor a special one
        return Setting(index, kind, self.sizes if sizes is None else sizes)

    @property
    def sizes(self) -> dict[str, int]:
        """Return the size of each axis in the given inputs, by its name."""
        return {axis.name: axis.size for axis in self.axes}

    @property
    def tables(self) -> list[str]:
        """Return the names of the floating-point inputs whose gradients are not judged.

        Their values may have to be as given.
        """
        judged = {answer.wrt for answer in self.exercise.answers}
        return [name for name in floating_inputs(self.given) if name not in judged]

    def has_given_sizes(self, code_trial: CodeTrial) -> bool:
        """Return whether every axis has its given size in a trial."""
        return dict(code_trial.trial.setting.sizes) == self.sizes

    def counts(self, code_trial: CodeTrial) -> bool:
        """Return whether a wrong gradient in this trial is a mistake: the trial is like the given call.

        It has the given sizes; and, where there are floating-point inputs whose gradients are not judged, their given
        values.
        """
        as_given = code_trial.trial.setting.kind in (*AS_GIVEN, KEPT_KIND, LARGE_UPSTREAM_KIND)
        return self.has_given_sizes(code_trial) and (as_given or not self.tables)

    def trial_of(self, setting: Setting, rng: np.random.Generator) -> CodeTrial | None:
        """Draw one trial with the sizes of a setting.

        `None` where forward raises or is not finite, or its gradient is mostly rounding.
        """
        try:
            return self.with_call(exercise_trial(self.exercise, setting, rng))
        except (SpecError, RuntimeError, ValueError, IndexError, TypeError):
            return None

    def with_call(self, trial: Trial) -> CodeTrial | None:
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
        bounds = self._tolerances(trial, call, allowed, errors)
        return CodeTrial(trial, call, bounds, allowed) if max(bounds.values()) <= DELICATE else None

    def _measured_gradients(self, trial: Trial) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        """Measure the gradients of a trial by finite differences of the forward pass.

        Of a large gradient only some entries are measured, and the others are nan.

        Returns:
            By answer, the gradient, shaped like the input, and how far it may be off, as a scaled error.
        """
        gradients, errors = {}, {}
        most = MOST_MEASURED if trial.setting.kind in AS_GIVEN else MOST_MEASURED_ELSEWHERE
        for answer in self.exercise.answers:
            values = trial.inputs[answer.wrt].numpy()
            places = np.random.default_rng(0).permutation(values.size)[:most]
            entries = [tuple(map(int, np.unravel_index(place, values.shape))) for place in sorted(places)]
            slopes, gaps = finite_differences.gradient_and_error(
                partial(loss_of, self.exercise, trial, answer.wrt), values, entries
            )
            gradients[answer.name] = slopes
            largest = float(np.nan_to_num(np.abs(slopes)).max(initial=0.0)) or 1.0
            errors[answer.name] = float(np.nan_to_num(gaps).max(initial=0.0)) / largest
        return gradients, errors

    def _allowed_gradient(self, answer: Answer, trial: Trial, known: np.ndarray) -> AllowedGradient:
        """Return the gradients that count as right for an answer in a trial: `known`, and those next to a kink.

        Those next to a kink are torch's; or, if `measured`, finite differences at the entries where `known` is finite.

        Args:
            answer: the gradient that is judged.
            trial: the trial.
            known: the right gradient at the input, shaped like it; nan where it is not known.
        """
        if not self.measured:
            return replace(allowed_gradient(self.exercise, answer, trial), expected=known)

        values = trial.inputs[answer.wrt].numpy()
        size = NUDGE * (float(np.abs(values).max(initial=0.0)) or 1.0)
        entries = [tuple(map(int, index)) for index in np.argwhere(np.isfinite(known))]
        loss = partial(loss_of, self.exercise, trial, answer.wrt)

        def gradient_of(move: Move) -> np.ndarray | None:
            """Return the gradient, measured at the input moved by `move`; `None` if the move has no values."""
            if move.values is None:
                return None
            nearby = np.asarray(values + size * move.values(values.shape))
            return finite_differences.gradient_at(loss, nearby, entries, size / FINER)

        return AllowedGradient(known, gradient_of)

    def with_upstream(self, code_trial: CodeTrial, upstream: np.ndarray, kind: str) -> CodeTrial | None:
        """Return the same inputs with another upstream gradient; `None` where `with_call` returns `None`.

        Args:
            code_trial: the trial with the inputs.
            upstream: shaped like the (joined) output.
            kind: the kind of the new trial.
        """
        return self.with_call(with_upstream(self.exercise, code_trial.trial, upstream, self.setting(kind)))

    def _with_other_upstream(self, given: CodeTrial, kind: str, rng: np.random.Generator) -> Iterator[CodeTrial]:
        """Yield the given inputs with another upstream gradient, in the memory layout of this kind of trial.

        The gradient is random; for `LARGE_UPSTREAM_KIND` the given one times `LARGE_FACTOR`, for `EXPANDED` one random
        number everywhere. There is at most one trial: none where `with_upstream` returns `None`, or where the gradient
        is contiguous even in the layout of a kind in `LAYOUTS`, as with a single entry.

        Args:
            given: the trial with the given inputs.
            kind: the kind of the new trial.
            rng: draws the upstream gradient.
        """
        assert given.trial.out is not None
        upstream = rng.standard_normal(tuple(given.trial.out.shape)).astype("float32")
        if kind == LARGE_UPSTREAM_KIND and given.trial.out_g is not None:
            upstream = LARGE_FACTOR * given.trial.out_g.numpy().astype("float32")
        if kind == EXPANDED:
            upstream = np.full_like(upstream, upstream.flat[0] if upstream.size else 0.0)
        code_trial = self.with_upstream(given, np.asarray(upstream), kind)
        if code_trial is not None and (
            kind not in LAYOUTS or not all(g.is_contiguous() for g in code_trial.call.out_g)
        ):
            yield code_trial

    def _first(
        self,
        rng: np.random.Generator,
        kind: str,
        sizes: Callable[[], Mapping[str, int]],
        takes: Callable[[CodeTrial], bool] | None = None,
    ) -> CodeTrial | None:
        """Return the first of a few drawn trials that forward takes and `takes` accepts; `None` if there is none.

        Args:
            rng: draws the trials.
            kind: the kind of trial.
            sizes: draws the size of each axis, by its name.
            takes: returns whether the code under test takes a trial; `None` accepts every one.
        """
        for _ in range(ATTEMPTS):
            code_trial = self.trial_of(self.setting(kind, sizes()), rng)
            if code_trial is not None and (takes is None or takes(code_trial)):
                return code_trial
        return None

    def _call(self, trial: Trial) -> CodeCall:
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
        return CodeCall(inputs, tuple(with_layout(g, trial.setting.kind) for g in whole), self.wrt)

    def _tolerances(
        self,
        trial: Trial,
        call: CodeCall,
        allowed: Mapping[str, AllowedGradient],
        errors: Mapping[str, float],
    ) -> dict[str, float]:
        """Return by answer the largest scaled error that counts as right.

        It is the tolerance of the dtype, or more where the error of torch's own gradient in that dtype is larger.

        Args:
            trial: the trial, with the right gradients in float64.
            call: the call of the trial, in the code's own dtype.
            allowed: by answer, the gradients that count as right.
            errors: by answer, the scaled error of the measured gradient; unused unless gradients are measured.
        """
        answers = self.exercise.answers
        least = {answer.name: tolerance(trial.right(answer), self.precision) for answer in answers}
        if self.measured:
            return {name: max(bound, ROUNDING * errors[name]) for name, bound in least.items()}
        for name, array in autograd_answers(self.exercise, answers, call.inputs, join_outputs(call.out_g)).items():
            own, expected = _zero_if_not_finite(array), _zero_if_not_finite(allowed[name].expected)
            if ROUNDING * scaled_error(own, expected) > least[name]:  # it may be on the other side of a kink
                compared = allowed[name].compare(own, least[name])
                own = np.where(compared.convention | compared.unjudged, expected, own)
            least[name] = max(least[name], ROUNDING * scaled_error(own, expected))
        return least


def are_gradients_confirmed(exercise: Exercise, trial: Trial, rng: np.random.Generator, *, held: bool) -> bool:
    """Return whether finite differences of the forward pass along random directions agree with a trial's gradients.

    All inputs are moved together first; if the differences disagree there, each input is moved alone. An input that
    disagrees even alone may lie on a kink, so its gradient may agree at a point nearby instead; points at which forward
    is undefined are skipped. Directions are symmetric for symmetric matrices.

    Args:
        exercise: the forward pass.
        trial: the trial, with the right gradients.
        rng: draws the directions.
        held: whether what the forward pass detaches is held constant.
    """
    answers = {answer.wrt: answer for answer in exercise.answers}
    values = {name: trial.inputs[name].numpy() for name in answers}
    scales = {name: float(np.abs(array).max(initial=0.0)) or 1.0 for name, array in values.items()}

    def random_direction(name: str) -> np.ndarray:
        """Return a random direction, shaped and scaled like an input, symmetric if the input is."""
        direction = np.asarray(scales[name] * rng.standard_normal(values[name].shape))
        return (direction + direction.swapaxes(-1, -2)) / 2 if is_symmetric(values[name]) else direction

    def loss(moved: Mapping[str, np.ndarray]) -> float:
        """Return the loss with some inputs replaced, by name."""
        if held:
            return loss_with(exercise, trial, moved)
        with torch.no_grad():
            tensors = {name: torch.from_numpy(array) for name, array in moved.items()}
            return float((exercise.run({**trial.inputs, **tensors}) * trial.out_g).sum())

    assert trial.out is not None
    assert trial.out_g is not None
    terms = float((trial.out * trial.out_g).abs().sum())

    def agrees(start: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray]) -> bool:
        """Return whether no random direction refutes the gradients of some inputs where these are as in `start`."""
        size = min(float(np.linalg.norm(gradient) * scales[name]) for name, gradient in gradients.items())
        return not any(
            all(_contradicts(loss, start, gradients, directions, step, size, terms) for step in STEPS)
            for directions in ({name: random_direction(name) for name in start} for _ in range(DIRECTIONS))
        )

    def agrees_nearby(name: str) -> bool:
        """Return whether the gradient of one input agrees at another value of it, near the given one."""
        for distance in DISTANCES:
            nearby = np.asarray(values[name] + distance * random_direction(name))
            moved = {**trial.inputs, name: torch.from_numpy(nearby)}
            try:
                gradient = autograd_answer(exercise, answers[name], moved, trial.out_g)
            except IMPOSSIBLE:
                continue
            if np.isfinite(gradient).all() and agrees({name: nearby}, {name: gradient}):
                return True
        return False

    right = {name: trial.right(answer) for name, answer in answers.items()}
    return (len(right) > 1 and agrees(values, right)) or all(
        agrees({name: values[name]}, {name: right[name]}) or agrees_nearby(name) for name in right
    )


def _contradicts(
    loss: Callable[[Mapping[str, np.ndarray]], float],
    start: Mapping[str, np.ndarray],
    gradients: Mapping[str, np.ndarray],
    directions: Mapping[str, np.ndarray],
    step: float,
    size: float,
    terms: float,
) -> bool:
    """Return whether the loss changes along a direction by more than the gradients and rounding account for.

    Args:
        loss: returns the loss for some inputs by name.
        start: the inputs by name; `gradients` and `directions` have arrays of their shapes.
        gradients: the gradients of the loss there.
        directions: where the inputs are moved, to both sides.
        step: in multiples of `directions`.
        size: the norm of a gradient times the scale of its input, in proportion to which a deviation is judged.
        terms: the sum of the absolute terms of the loss, whose rounding is allowed for.
    """
    try:
        there, here = (
            loss({name: np.asarray(array + s * directions[name]) for name, array in start.items()})
            for s in (step, -step)
        )
    except IMPOSSIBLE:
        return False
    rounding = 1e-12 * (abs(there) + abs(here) + terms) / step
    slope = sum(float((gradient * directions[name]).sum()) for name, gradient in gradients.items())
    return abs((there - here) / (2 * step) - slope) > AGREEMENT * size + rounding


def _zero_if_not_finite(array: np.ndarray) -> np.ndarray:
    """Return an array with zeros in place of entries that are not finite; the array itself where all are."""
    finite = np.isfinite(array)
    return array if finite.all() else np.where(finite, array, 0.0)


def clearness(code_trial: CodeTrial) -> tuple[bool, bool]:
    """Return a sort key for trials, the least for a trial in which a wrong gradient is explained most easily.

    Trials whose axes all have different sizes, none of them 1, come first, and among equal ones those with at most
    `LARGEST_FIRST` entries.
    """
    sizes = list(code_trial.trial.setting.sizes.values())
    if len(code_trial.call.out_g) > 1:
        sizes.append(sum(g.numel() for g in code_trial.call.out_g))  # that of the joined output
    entries = sum(value.values.size for value in code_trial.trial.arguments.values() if isinstance(value, Array))
    return len(set(sizes)) < len(sizes) or 1 in sizes, entries > LARGEST_FIRST


def _arrays(expected: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """Return the arrays that are not `None`, by name."""
    return {name: array for name, array in expected.items() if array is not None}


def _zero_if_rounding(array: np.ndarray, trial: Trial) -> np.ndarray:
    """Return zeros for an array that is no larger than rounding beside the upstream gradient; another unchanged."""
    assert trial.out_g is not None
    least = NEXT_TO_NOTHING * max(1.0, float(np.abs(trial.out_g.numpy()).max(initial=0.0)))
    is_rounding = float(np.abs(array).max(initial=0.0)) <= least
    return np.zeros_like(array) if is_rounding else array
