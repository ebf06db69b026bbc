"""What was stored before: a gradient must be added to it, and neither replace it nor be lost beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from grader.exercise import Answer
from grader.reference.compare import scaled_error
from grader.reference.trial import Candidate, Trial
from grader.sampling import Array

from .relations import MATCH, Pair, right_in

TOLERANCE = 1e-3
LEAST_TRIALS, LEAST_ENTRIES = 2, 5
Change = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Each from the new gradient and what was there.
WHERE_STORED: tuple[tuple[str, str, Change], ...] = (
    ("overwritten", "what was stored before is gone: the new gradient must be added to it", lambda new, old: new),
    ("overwritten", "the new gradient is added to itself, not to what was there", lambda new, old: 2 * new),
    ("overwritten", "what was stored before stays as it was: the new gradient must be added to it",
     lambda new, old: old),
    ("wrong-sign", "what was stored before is subtracted; the new gradient must be added to it",
     lambda new, old: new - old),
    ("mean-for-sum", "it is the mean of what was stored before and the new gradient; they must add",
     lambda new, old: (new + old) / 2),
    ("wrong-factor", "the new gradient counts twice where something was stored before",
     lambda new, old: 2 * new + old),
    ("wrong-factor", "what was stored before counts twice", lambda new, old: new + 2 * old),
)  # fmt: skip


def candidates(answer: Answer, trial: Trial) -> Iterator[Candidate]:
    """Slips in adding to what is there; nothing where the answer is not added to anything."""
    if not _has_prior(answer, trial):
        return
    for code, says, change in WHERE_STORED:
        yield Candidate(code, says, _changed(answer, change, lambda new: new))
    says = f"the new gradient is added to {answer.wrt} itself, not to what was stored in {answer.name}"
    yield Candidate("overwritten", says, partial(_added_to_itself, answer))
    says = "the new gradient counts twice where nothing was stored before"
    yield Candidate("wrong-factor", says, _changed(answer, lambda new, old: new + old, lambda new: 2 * new))


def mixed_with_prior(answer: Answer, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """Code and clause where the old and the new gradient are added, each with its own weight in all trials."""
    known = [
        (np.stack([right_in(answer, trial) - old, old]).reshape(2, -1), array.flatten())
        for trial, array in pairs
        if answer.stored and (old := _prior(answer, trial)) is not None and array.shape == old.shape
    ]
    parts, found = (np.concatenate(arrays, axis=-1) for arrays in zip(*known, strict=True)) if known else (None, None)
    if parts is None or found is None or len(known) < LEAST_TRIALS or found.size < LEAST_ENTRIES:
        return None
    weights = np.linalg.lstsq(parts.T, found, rcond=None)[0]
    if scaled_error(found, weights @ parts) > MATCH or abs(weights[0] - weights[1]) < TOLERANCE:
        return None
    new, before = weights
    says = (
        f"the new gradient counts {new:.3g} times and what was stored before {before:.3g} times; both must count once"
    )
    return "wrong-factor", says


def _changed(
    answer: Answer, stored: Change, nothing: Callable[[np.ndarray], np.ndarray]
) -> Callable[[Trial], np.ndarray]:
    """The answer in any trial, as `stored` makes it where something was there, and `nothing` where nothing was."""

    def compute(trial: Trial) -> np.ndarray:
        old = _prior(answer, trial)
        right = right_in(answer, trial)
        return nothing(right) if old is None else stored(right - old, old)

    return compute


def _added_to_itself(answer: Answer, trial: Trial) -> np.ndarray:
    old = _prior(answer, trial)
    new = right_in(answer, trial) if old is None else right_in(answer, trial) - old
    return np.asarray(new + np.asarray(trial.inputs[answer.wrt]))


def _prior(answer: Answer, trial: Trial) -> np.ndarray | None:
    argument = trial.arguments.get(answer.wrt)
    return argument.g if isinstance(argument, Array) else None


def _has_prior(answer: Answer, trial: Trial) -> bool:
    return answer.stored and _prior(answer, trial) is not None
