"""The right numbers with something astray: a value added or multiplied in, or each number in another place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from grader.exercise import Answer
from grader.reference.trial import Candidate, Trial

from . import products
from .products import at_hand
from .relations import Kept, right_in, summed

Change = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Each from the right answer and a value of the same shape, or one that can be repeated to have it.
TOGETHER: tuple[tuple[str, str, Change], ...] = (
    ("wrong-local", "{} is added to the right answer", lambda right, value: right + value),
    ("wrong-local", "{} is subtracted from the right answer", lambda right, value: right - value),
    (
        "wrong-local",
        "this is {} less the right answer: a step downhill, no gradient",
        lambda right, value: value - right,
    ),
    ("extra-factor", "every entry is also multiplied by {}", lambda right, value: right * value),
)

# Each from the right answer alone.
ALONE: tuple[tuple[str, str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("wrong-sign", "every entry has lost its sign", np.abs),
    ("wrong-local", "only the signs of the right answer are left", np.sign),
    ("wrong-local", "the negative entries of the right answer are set to 0", lambda right: np.maximum(right, 0)),
    ("not-linear", "the right answer is cut off at -1 and 1", lambda right: np.clip(right, -1, 1)),
)


def candidates(answer: Answer, trial: Trial, output_name: str = "out") -> Iterator[Candidate]:
    """Every value at hand, together with the right answer; then its numbers in other places.

    Args:
        output_name: what a learner calls the output.
    """
    if answer.kind == "value":
        return
    shape = right_in(answer, trial).shape
    for name, value in at_hand(trial).items():
        if value.ndim and _fits(value.shape, shape):
            for code, says, change in TOGETHER:
                what = output_name if name == "out" else name
                yield Candidate(code, says.format(what), partial(_together, answer, name, change))
    for code, says, alone in ALONE:
        yield Candidate(code, says, partial(_changed, answer, alone))
    for axis in range(1, len(shape)):
        says = f"it is summed over {_axis_name(answer, trial, axis)}, an axis it must keep"
        for operation, kept in itertools.product((np.sum, np.mean), (Kept.ONE, Kept.ALL)):
            yield Candidate("summed-wrong-axis", says, partial(summed, answer, operation, axis, kept))
    yield from products.candidates(answer, trial, output_name)
    for axis in range(len(shape)):
        says = f"these are the right numbers, back to front along axis {axis}"
        yield Candidate("wrong-operand", says, partial(_turned, answer, axis))
        for shift, which in ((1, "before"), (-1, "behind")):
            says = f"along axis {axis} each entry has the right number of the one {which} it"
            yield Candidate("wrong-operand", says, partial(_shifted, answer, axis, shift))


def _axis_name(answer: Answer, trial: Trial, axis: int) -> str:
    axes = trial.axes(answer.wrt) or ()
    return axes[axis] if axis < len(axes) and not axes[axis].startswith("_") else f"axis {axis}"


def _fits(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wide) == wide
    except ValueError:
        return False


def _together(answer: Answer, name: str, change: Change, trial: Trial) -> np.ndarray:
    right = right_in(answer, trial)
    return change(right, np.broadcast_to(at_hand(trial)[name], right.shape))


def _changed(answer: Answer, change: Callable[[np.ndarray], np.ndarray], trial: Trial) -> np.ndarray:
    return change(right_in(answer, trial))


def _turned(answer: Answer, axis: int, trial: Trial) -> np.ndarray:
    return np.flip(right_in(answer, trial), axis)


def _shifted(answer: Answer, axis: int, shift: int, trial: Trial) -> np.ndarray:
    """Moved by one place; what falls out at one end comes in at the other."""
    return np.roll(right_in(answer, trial), shift, axis)
