"""The right numbers with something astray: a value added or multiplied in, or each number in another place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from grader.exercise import Answer
from grader.reference.trial import Candidate, Trial

from .relations import right_in

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


def candidates(answer: Answer, trial: Trial, output_name: str = "out") -> Iterator[Candidate]:
    """Every value at hand, together with the right answer; then its numbers in other places.

    Args:
        output_name: what a learner calls the output.
    """
    shape = right_in(answer, trial).shape
    for name, value in _values(trial).items():
        if value.ndim and _fits(value.shape, shape):
            for code, says, change in TOGETHER:
                what = output_name if name == "out" else name
                yield Candidate(code, says.format(what), partial(_together, answer, name, change))
    for axis in range(len(shape)):
        says = f"these are the right numbers, back to front along axis {axis}"
        yield Candidate("wrong-operand", says, partial(_turned, answer, axis))
        for shift, which in ((1, "before"), (-1, "behind")):
            says = f"along axis {axis} each entry has the right number of the one {which} it"
            yield Candidate("wrong-operand", says, partial(_shifted, answer, axis, shift))


def _values(trial: Trial) -> dict[str, np.ndarray]:
    """The floating-point arrays of a trial: what the forward pass took, its output and the upstream gradient."""
    tensors: Mapping[str, Any] = {**trial.inputs, "out": trial.out, "out.g": trial.out_g}
    return {
        name: value.numpy()
        for name, value in tensors.items()
        if hasattr(value, "is_floating_point") and value.is_floating_point()
    }


def _fits(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wide) == wide
    except ValueError:
        return False


def _together(answer: Answer, name: str, change: Change, trial: Trial) -> np.ndarray:
    right = right_in(answer, trial)
    return change(right, np.broadcast_to(_values(trial)[name], right.shape))


def _turned(answer: Answer, axis: int, trial: Trial) -> np.ndarray:
    return np.flip(right_in(answer, trial), axis)


def _shifted(answer: Answer, axis: int, shift: int, trial: Trial) -> np.ndarray:
    """Moved by one place; what falls out at one end comes in at the other."""
    return np.roll(right_in(answer, trial), shift, axis)
