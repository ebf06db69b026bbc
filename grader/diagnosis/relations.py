"""Relations between a wrong answer and the right one that need no graph: transposes, sums, constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from grader.exercise import Answer
from grader.reference.option_arguments import right_where
from grader.reference.trial import Candidate, Trial, Vague
from grader.shapes import BATCH, FIRST_OF_ANY, PARTS, Sizes
from grader.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND

MATCH = 1e-4
NOTHING = 1e-5
Pair = tuple[Trial, np.ndarray]


def candidates(answer: Answer, trial: Trial) -> Iterator[Candidate]:
    """Candidates computed from the reference and the forward pass's own values."""
    right = right_in(answer, trial)

    of = partial(_of, answer)
    yield Candidate("wrong-sign", "every entry has the wrong sign", of(np.negative))
    for other in trial.expected:
        if other != answer.name and answer.kind == "gradient":
            yield Candidate("wrong-operand", f"this is what {other} should be", partial(_other, other))
    if right.ndim >= 2:
        yield Candidate("transposed", "this is the transpose of the right answer", of(lambda r: r.swapaxes(-1, -2)))
        yield Candidate("reshape-for-transpose", "these are the transpose's numbers, reshaped",
                        of(lambda r: r.swapaxes(-1, -2).reshape(r.shape)))  # fmt: skip
    if answer.kind == "jacobian":
        yield Candidate("diagonal-only", "this is only the diagonal of the Jacobian", of(np.diagonal))
        for axis, line in ((0, "row"), (1, "column")):
            says = f"every {line} is the first {line} of the Jacobian"
            yield Candidate("wrong-operand", says, of(partial(_first_everywhere, axis)))
    yield from _sums(answer, trial, right)
    yield from _of_parts(answer, trial, right)
    if trial.out_g is not None and answer.kind == "gradient":
        yield Candidate("missing-local", "this is the upstream gradient itself: nothing was done to it",
                        lambda trial: np.asarray(trial.out_g))  # fmt: skip
        says = "every entry is the output of the forward pass, not a gradient"
        yield Candidate("forward-value", says, lambda t: np.broadcast_to(np.asarray(t.out), right_in(answer, t).shape))
    if _one_number(right) is not None and not right.all():
        says = "the entries that must be 0 have the gradient, and those that must have it are 0"
        yield Candidate("inverted-mask", says, partial(_other_entries, answer))
    for key, value in trial.inputs.items():
        if type(value) is float and answer.kind == "gradient":
            says = f"{key} is {{}} where it must be multiplied with"
            yield Candidate("wrong-operand", says.format("added"), partial(_summand, answer, key, 1))
            yield Candidate("wrong-operand", says.format("subtracted"), partial(_summand, answer, key, -1))
        if hasattr(value, "numpy"):
            says = f"this is {key} itself, a value of the forward pass"
            yield Candidate("forward-value", says, partial(_input, key))
            if value.ndim == 1 < right.ndim:
                for repeated in (_as_row, _as_column):
                    yield Candidate("forward-value", f"{says}, repeated", partial(repeated, answer, key))


def _of(answer: Answer, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Trial], np.ndarray]:
    """What a change makes of the right answer, in any trial."""
    return lambda trial: change(right_in(answer, trial))


def _of_parts(answer: Answer, trial: Trial, right: np.ndarray) -> Iterator[Candidate]:
    """Right for some of the examples or entries only, or summed over what must stay apart."""
    of = partial(_of, answer)
    if right.ndim and len(right) > 1 and answer.kind == "gradient":
        for which, part in PARTS.items():
            says = f"of the examples, {which} {'have' if 'all' in which else 'has'} a gradient"
            yield Candidate("partial-batch", says, of(partial(_rows_only, part)))
        yield Candidate("partial-batch", "this is the first example's gradient alone", of(lambda r: r[0]))
        for which, place in (("first", slice(0, 1)), ("last", slice(-1, None))):
            says = f"every example has the gradient of the {which} one"
            yield Candidate("partial-batch", says, of(partial(_same_rows, place)))
    if answer.kind == "gradient" and not {BATCH, FIRST_OF_ANY} & set(trial.axes(answer.wrt) or ()):
        says = "it is summed over an axis that it must keep"
        for axis in (*range(right.ndim), None):
            for operation in (np.sum, np.mean):
                yield Candidate("summed-wrong-axis", says, of(partial(_filled_with, operation, axis)))
    if right.size > len(PARTS):
        for which, at in (("first", 0), ("last", -1)):
            says = f"the {which} entry is 0 and all the others are right: it was not counted"
            yield Candidate("partial-batch", says, of(partial(_without_entry, at)))
            says = f"only the {which} entry is there, and all the others are 0"
            yield Candidate("partial-batch", says, of(partial(_entry_alone, at)))


def _one_number(right: np.ndarray) -> float | None:
    """The one number that an array has beside 0, if there is only one."""
    numbers = np.unique(right[right != 0])
    one = numbers.size > 0 and np.ptp(numbers) <= MATCH * abs(numbers[0])
    return float(numbers[0]) if one else None


def _other_entries(answer: Answer, trial: Trial) -> np.ndarray:
    """The number of the right answer in the places of its zeros."""
    right = right_in(answer, trial)
    number = _one_number(right)
    if number is None:
        raise ValueError("the right answer has other numbers as well")
    return np.where(right == 0, number, 0.0)


def _summand(answer: Answer, key: str, sign: int, trial: Trial) -> np.ndarray:
    """The right answer in which a factor has become a summand."""
    factor = trial.inputs[key]
    return np.asarray(right_in(answer, trial) / factor + sign * factor)


def _other(name: str, trial: Trial) -> np.ndarray:
    expected = trial.expected[name]
    if expected is None:
        raise ValueError("it is not asked for in this trial")
    return expected


def _input(key: str, trial: Trial) -> np.ndarray:
    return np.asarray(trial.inputs[key])


def _as_row(answer: Answer, key: str, trial: Trial) -> np.ndarray:
    return np.broadcast_to(_input(key, trial), right_in(answer, trial).shape)


def _as_column(answer: Answer, key: str, trial: Trial) -> np.ndarray:
    return np.broadcast_to(_input(key, trial)[:, None], right_in(answer, trial).shape)


def right_in(answer: Answer, trial: Trial) -> np.ndarray:
    """The right array in a trial; a zero where nothing may be stored."""
    expected = trial.expected[answer.name]
    return np.zeros(()) if expected is None else expected


def _same_rows(place: slice, right: np.ndarray) -> np.ndarray:
    return np.broadcast_to(right[place], right.shape)


def _first_everywhere(axis: int, right: np.ndarray) -> np.ndarray:
    return np.broadcast_to(right.take([0], axis), right.shape)


def _filled_with(operation: Callable[..., Any], axis: int | None, right: np.ndarray) -> np.ndarray:
    return np.broadcast_to(operation(right, axis=axis, keepdims=True), right.shape)


def _without_entry(at: int, right: np.ndarray) -> np.ndarray:
    entries = right.flatten()
    entries[at] = 0
    return entries.reshape(right.shape)


def _entry_alone(at: int, right: np.ndarray) -> np.ndarray:
    return np.asarray(right - _without_entry(at, right))


def _rows_only(part: slice, right: np.ndarray) -> np.ndarray:
    rows = np.zeros_like(right)
    rows[part] = right[part]
    return rows


def _sums(answer: Answer, trial: Trial, right: np.ndarray) -> Iterator[Candidate]:
    """The right answer, summed or averaged over the batch axis that its owner has."""
    axes = trial.axes(answer.wrt) or ()
    if not right.ndim or len(axes) != right.ndim or axes[0] not in (BATCH, FIRST_OF_ANY):
        return
    first = BATCH if axes[0] == BATCH else "the first axis"
    for operation in (np.sum, np.mean):
        for axis, which in ((0, f"{first}, an axis it must keep"), (None, "all of its axes, which it must keep")):
            says = f"it is summed over {which}"
            for kept in (Kept.NOT, Kept.ONE, Kept.ALL):
                yield Candidate("extra-batch-sum", says, partial(summed, answer, operation, axis, kept))


class Kept(Enum):
    """What becomes of an axis that is summed over: gone, left with size one, or filled with the sum."""

    NOT = 0
    ONE = 1
    ALL = 2


def summed(answer: Answer, operation: Callable[..., Any], axis: int | None, kept: Kept, trial: Trial) -> np.ndarray:
    expected = right_in(answer, trial)
    if operation is np.mean and not np.ptp(expected):
        raise Vague("a mean of equal numbers is one of them, which may be there for another reason")
    total = np.asarray(operation(expected, axis=axis, keepdims=kept is not Kept.NOT))
    return np.broadcast_to(total, expected.shape) if kept is Kept.ALL else total


def constant(pairs: Sequence[Pair], *, trivial: bool = False) -> str | None:
    """The same number everywhere, in every trial, whatever the inputs: the clause that says so.

    Args:
        trivial: 0 and 1 count too, which often come from elsewhere.
    """
    values = {float(value) for _, array in pairs for value in np.unique(array)[:2]}
    if len(values) != 1 or len(pairs) < 2 or (not trivial and values <= {0.0, 1.0}):
        return None
    return f"every entry is {values.pop() + 0.0:g}, whatever the inputs are"


def nothing(answer: Answer, pairs: Sequence[Pair]) -> str | None:
    """0 but for rounding, in every trial, and not so the right answer: the clause that says so."""
    sizes = [
        (np.abs(array).max(initial=0.0), np.abs(right_in(answer, trial)).max(initial=0.0)) for trial, array in pairs
    ]
    if len(pairs) < 2 or not any(array for array, _ in sizes) or any(array > NOTHING * right for array, right in sizes):
        return None
    return "every entry is 0 but for rounding, whatever the inputs are"


def same_shape(answer: Answer, pairs: Sequence[Pair]) -> str | None:
    """The same shape in every trial, though the sizes change: the clause that says so."""
    shapes = {array.shape for _, array in pairs}
    expected = {right_in(answer, trial).shape for trial, _ in pairs}
    if len(shapes) != 1 or len(expected) < 2 or max(next(iter(shapes)), default=1) == 1:
        return None
    return f"its shape is {shapes.pop()} whatever the sizes are"


def passes_where(
    answer: Answer, pairs: Sequence[Pair], agree: Callable[[np.ndarray, np.ndarray], bool]
) -> tuple[str, str] | None:
    """Code and clause where an answer is right in some trials, and something tells these from the others."""
    told = [(trial, array) for trial, array in pairs if np.any(right_in(answer, trial))] or pairs  # zeros come easily
    right = [trial for trial, array in told if agree(array, right_in(answer, trial))]
    wrong = [trial for trial, array in told if not agree(array, right_in(answer, trial))]
    if not right or not wrong:
        return None
    kinds = [{trial.setting.kind for trial in trials} for trials in (right, wrong)]
    if kinds[0] == {ONE_KIND}:
        return None  # one example alone hides whatever mixes several
    if not kinds[0] & kinds[1]:
        for trials, clause in ((right, "it is right only in {}"), (wrong, "it is right except in {}")):
            if {trial.setting.kind for trial in trials} <= {ONE_KIND, "a square case"}:
                return "shape-special", clause.format(_kinds(trials))
    if kinds[1] == {LARGE_UPSTREAM_KIND}:
        return "not-linear", "it is right for small upstream gradients only, but it must be linear in them"
    if where := right_where(answer, right, wrong):
        return "hard-coded", f"it is right only where {where}"
    if any(array.shape != right_in(answer, trial).shape for trial, array in pairs):
        return None
    ranks = [{trial.setting.rank for trial in trials} for trials in (right, wrong)]
    if not ranks[0] & ranks[1] and any(axis.startswith("_") for axis in right[0].setting.sizes):
        return "shape-special", f"it is right only for arrays of rank {ranks[0].pop()}"
    return None


def _kinds(trials: Sequence[Trial]) -> str:
    known = {trial.setting.kind: _sizes(trial.setting.sizes) for trial in reversed(trials)}
    return " and ".join(f"{kind} ({sizes})" if sizes else kind for kind, sizes in reversed(known.items()))


def _sizes(sizes: Sizes) -> str:
    return ", ".join(f"{axis}={size}" for axis, size in sizes.items() if not axis.startswith("_"))
