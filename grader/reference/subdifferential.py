"""The gradients that are right at inputs on a kink, where a derivative is a matter of convention.

At 0 the derivative of relu may be anything in [0, 1], and equal maxima may share the upstream gradient in any way. The
gradients at points very near the inputs are what conventions mix. Every entry of a right gradient lies between the
values that it takes there, and every weighted sum of entries that is the same at all of these points has that value.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from grader.exercise import Exercise, is_differentiable

from .compare import RTOL
from .references import autograd_answer, carried_gradient, derivative_answers
from .trial import Trial

NEAR = 1e-14  # the side of a kink is all that tells: so near that nothing else changes, and not lost in rounding
FIRST_POINTS, DOUBLED = 8, 7
SAME = 1e-6  # in proportion to the largest entry: no kink lies between two gradients that differ by less

Names = tuple[str, ...]


@dataclass(frozen=True)
class Subdifferential:
    """The right arrays of one answer at inputs on a kink.

    Args:
        right: one of them, flat.
        directions: (k, size), orthonormal: what conventions may add to it.
        low: by entry, the least that it may be; -inf where several kinks meet in it.
        high: by entry, the most.
    """

    right: np.ndarray
    directions: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def wrong_entries(self, array: np.ndarray) -> np.ndarray:
        """Return where an array, shaped like the answer, is none of them; shaped like it, too."""
        flat = array.reshape(-1).astype("float64")
        difference = flat - self.right
        with np.errstate(all="ignore"):
            fixed = difference - (self.directions @ difference) @ self.directions
        bound = RTOL["float32"] * self._scale
        right = (np.abs(fixed) <= bound) & (self.low - bound <= flat) & (flat <= self.high + bound)
        return np.asarray(~right.reshape(array.shape))

    @property
    def _scale(self) -> float:
        sizes = (np.abs(part[np.isfinite(part)]).max(initial=0.0) for part in (self.right, self.low, self.high))
        return float(max(sizes)) or 1.0


def subdifferentials(exercise: Exercise, trial: Trial) -> Mapping[Names, Subdifferential]:
    """Return those of the answers that depend on a convention; worked out once for a trial.

    Under the names of two answers stands that of their sum: where `a` and `b` are equal, `a.maximum(b)` gives them the
    upstream gradient once, in shares.
    """
    found: Mapping[Names, Subdifferential] = trial.remember("subdifferentials", lambda: _of_trial(exercise, trial))
    return found


def _of_trial(exercise: Exercise, trial: Trial) -> dict[Names, Subdifferential]:
    right = {answer: trial.expected[answer.name] for answer in derivative_answers(exercise)}
    at: dict[Names, np.ndarray] = {(answer.name,): array for answer, array in right.items() if array is not None}
    at |= {(*a, *b): at[a] + at[b] for a, b in itertools.combinations(at, 2) if at[a].shape == at[b].shape}
    names_of_arrays = [name for name in trial.inputs if is_differentiable(exercise.inputs[name])]
    rng = np.random.default_rng(0)

    def beside(nudges: Mapping[str, torch.Tensor]) -> dict[Names, np.ndarray]:
        inputs = {**trial.inputs, **{name: trial.inputs[name] + nudge for name, nudge in nudges.items()}}
        of_answer = {
            answer.name: autograd_answer(exercise, answer, inputs, trial.out_g)
            + carried_gradient(answer, trial.arguments)
            for answer, array in right.items()
            if array is not None
        }
        return {names: np.asarray(sum(of_answer[name] for name in names)) for names in at}

    shapes = {name: tuple(trial.inputs[name].shape) for name in names_of_arrays}
    nudges = {name: torch.from_numpy(_nudge(shape, rng)) for name, shape in shapes.items()}
    points = [beside(nudges), beside({name: -nudge for name, nudge in nudges.items()})]  # both sides of every kink
    if not any(_differ(at[names], [point[names] for point in points]) for names in at):
        return {}
    for count in (FIRST_POINTS << doubled for doubled in range(DOUBLED)):
        while len(points) < count:
            points.append(beside({name: torch.from_numpy(_nudge(shape, rng)) for name, shape in shapes.items()}))
        if all(_is_settled([point[names] for point in points]) for names in at):
            break
    gradients = {names: [point[names] for point in points] for names in at}
    return {names: _mixed(at[names], each) for names, each in gradients.items() if _differ(at[names], each)}


def _nudge(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw what every entry is moved by, up or down."""
    return np.asarray(NEAR * rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))


def _differ(right: np.ndarray, gradients: Sequence[np.ndarray]) -> bool:
    """Return whether a kink lies between some of these gradients."""
    nearby = np.stack([right, *gradients])
    return bool(np.ptp(nearby, 0).max(initial=0.0) > SAME * (np.abs(nearby).max(initial=0.0) or 1.0))


def _is_settled(gradients: Sequence[np.ndarray]) -> bool:
    """Return whether the second half of these gradients shows no direction that the first half does not."""
    nearby = np.stack([gradient.reshape(-1) for gradient in gradients])
    differences, bound = nearby - nearby[0], SAME * np.abs(nearby).max(initial=0.0)
    first_half = differences[: len(differences) // 2]
    return len(_directions(first_half, bound)) == len(_directions(differences, bound))


def _mixed(right: np.ndarray, gradients: Sequence[np.ndarray]) -> Subdifferential:
    """Return what conventions mix of these gradients.

    An entry that takes more than two values lies where several kinks meet: how far they lead together is not seen.
    """
    flat, nearby = right.reshape(-1), np.stack([gradient.reshape(-1) for gradient in gradients])
    bound = SAME * np.abs(nearby).max(initial=0.0)
    low, high = nearby.min(0), nearby.max(0)
    several = ((nearby > low + bound) & (nearby < high - bound)).any(0)
    smooth = high - low <= bound
    low, high = np.where(smooth, flat, low), np.where(smooth, flat, high)
    directions = _directions(nearby - nearby[0], bound)
    return Subdifferential(nearby[0], directions, np.where(several, -np.inf, low), np.where(several, np.inf, high))


def _directions(differences: np.ndarray, bound: float) -> np.ndarray:
    """Return an orthonormal basis of what the rows span, but for differences within `bound`; shape (k, size)."""
    _, sizes, rows = np.linalg.svd(differences, full_matrices=False)
    found: np.ndarray = rows[sizes > bound]
    return found
