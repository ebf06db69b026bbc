"""Two arrays at hand, multiplied, or one summed: a learner knows the formula when it is spelt out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from grader.exercise import Answer
from grader.reference.trial import Candidate, Trial

from .relations import right_in

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

MATRIX_PRODUCTS: tuple[tuple[str, Product], ...] = (
    ("{} @ {}", lambda a, b: a @ b),
    ("{}.T @ {}", lambda a, b: a.T @ b),
    ("{} @ {}.T", lambda a, b: a @ b.T),
    ("({1} @ {0}).T", lambda a, b: (b @ a).T),
)

REDUCED: tuple[tuple[str, Callable[..., np.ndarray]], ...] = (("sum", np.sum), ("mean", np.mean))


def candidates(answer: Answer, trial: Trial, output_name: str = "out") -> Iterator[Candidate]:
    """Every product of two arrays at hand, and every sum of one, that has the right shape.

    Args:
        trial: the first trial, whose pairwise different sizes tell which products have the right shape.
        output_name: what a learner calls the output.
    """
    shape, arrays = right_in(answer, trial).shape, _arrays(answer, trial)
    names = {name: output_name if name == "out" else name for name in arrays}
    for a, b in itertools.combinations_with_replacement(arrays, 2):
        wide = _wide(arrays[a].shape, arrays[b].shape)
        if wide == shape or (wide and len(wide) == len(shape) + 1 and wide[1:] == shape):
            says = f"{names[a]} * {names[b]}"
            says = f"this is {says}" if wide == shape else f"this is ({says}).sum(0)"
            yield Candidate("wrong-operand", says, partial(_multiplied, answer, a, b))
    for name, array in arrays.items():
        for axis in range(array.ndim):
            if array.shape[:axis] + array.shape[axis + 1 :] == shape:
                for how, reduced in REDUCED:
                    says = f"this is {names[name]}.{how}({axis})"
                    yield Candidate("wrong-operand", says, partial(_reduced, answer, name, axis, reduced))
    for a, b in itertools.product(arrays, repeat=2):
        for says, product in MATRIX_PRODUCTS:
            if arrays[a].ndim == arrays[b].ndim == 2 and _shape(product, arrays[a], arrays[b]) == shape:
                says = f"this is {says.format(names[a], names[b])}"
                yield Candidate("wrong-operand", says, partial(_matrix_product, answer, a, b, product))


def at_hand(trial: Trial) -> dict[str, np.ndarray]:
    """The floating-point arrays of a trial: what the forward pass took, its output and the upstream gradient."""
    tensors: Mapping[str, Any] = {**trial.inputs, "out": trial.out, "out.g": trial.out_g}
    return {
        name: value.numpy()
        for name, value in tensors.items()
        if hasattr(value, "is_floating_point") and value.is_floating_point()
    }


def _arrays(answer: Answer, trial: Trial) -> dict[str, np.ndarray]:
    """What is at hand, the other answers of the exercise among it."""
    others = {name: value for name, value in trial.expected.items() if name != answer.name and value is not None}
    return {name: value for name, value in {**at_hand(trial), **others}.items() if value.ndim}


def _wide(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def _shape(product: Product, a: np.ndarray, b: np.ndarray) -> tuple[int, ...] | None:
    try:
        return product(a, b).shape
    except ValueError:
        return None


def _multiplied(answer: Answer, a: str, b: str, trial: Trial) -> np.ndarray:
    arrays, right = _arrays(answer, trial), right_in(answer, trial)
    found = np.asarray(arrays[a] * arrays[b])
    return found if found.ndim == right.ndim else found.sum(0)


def _reduced(answer: Answer, name: str, axis: int, reduced: Callable[..., np.ndarray], trial: Trial) -> np.ndarray:
    return np.asarray(reduced(_arrays(answer, trial)[name], axis=axis))


def _matrix_product(answer: Answer, a: str, b: str, product: Product, trial: Trial) -> np.ndarray:
    arrays = _arrays(answer, trial)
    return product(arrays[a], arrays[b])
