"""What finite differences say of a wrong answer: one entry nudged, and how far the loss really moved."""

from __future__ import annotations

import numpy as np

from grader.exercise import Answer, Declaration, Exercise
from grader.reference.compare import worst_entry
from grader.reference.finite_differences import nudged
from grader.reference.references import loss_of
from grader.reference.trial import Trial
from grader.sampling import Array

NUDGE = 1e-4


def evidence_of(exercise: Declaration, answer: Answer, trial: Trial, array: np.ndarray, expected: np.ndarray) -> str:
    """What a nudge of the entry that is furthest off does; empty where that says nothing.

    Args:
        array: the learner's answer in this trial.
        expected: the right one.
    """
    if not isinstance(exercise, Exercise) or answer.kind != "gradient" or array.shape != expected.shape:
        return ""
    argument = trial.arguments.get(answer.wrt)
    if isinstance(argument, Array) and argument.g is not None:
        return ""
    index = worst_entry(array, expected)
    values = trial.inputs[answer.wrt].numpy()
    moved = loss_of(exercise, trial, answer.wrt, nudged(values, index, NUDGE))
    change = moved - loss_of(exercise, trial, answer.wrt, values)
    entry = f"{answer.wrt}[{','.join(map(str, index))}]" if index else answer.wrt
    what = "the loss" if exercise.gives_upstream or array.ndim == 0 or trial.out_g.ndim == 0 else "the output"  # type: ignore[union-attr]
    return f"nudge {entry} by 1e-4: {what} moves by {change:.3e}, your gradient says {NUDGE * array[index]:.3e}"


def shown(array: np.ndarray) -> str:
    """An array on one line, the middle of a large one left out."""
    with np.printoptions(precision=4, suppress=True, threshold=40, edgeitems=2):
        return " ".join(np.array2string(array, separator=", ").split())
