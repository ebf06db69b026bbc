"""A wrong answer that is the right one times a factor: which factor, read from the sizes and the plain numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from grader.exercise import Answer
from grader.reference.compare import scaled_error
from grader.reference.trial import Trial
from grader.sampling import Array

from .relations import MATCH, Pair, right_in


def ratio(answer: Answer, pairs: Sequence[Pair], averages: bool) -> tuple[str, str] | None:
    """Code and clause where every entry is off by one factor, decoded with the axis sizes.

    Args:
        averages: the forward pass takes a mean.
    """
    return decoded(_ratios(answer, pairs), averages)


def decoded(known: Sequence[tuple[Trial, float]], averages: bool) -> tuple[str, str] | None:
    """Code and clause for a factor that is known in each trial; `None` where it is 1, or follows nothing known."""
    if len(known) < 2:
        return None
    first = known[0][1]
    if all(math.isclose(r, 1, rel_tol=1e-2) for _, r in known):
        return None
    if all(math.isclose(r, first, rel_tol=1e-4) for _, r in known):
        if math.isclose(first, -1, rel_tol=1e-4):
            return "wrong-sign", "every entry has the wrong sign"
        return "wrong-factor", f"every entry is {_number(first)} times what it should be"
    return _sized_ratio(known, averages)


def _ratios(answer: Answer, pairs: Sequence[Pair]) -> list[tuple[Trial, float]]:
    """The factor in each trial whose reference is not zero; empty if one of them has no single factor."""
    found = [(trial, one_ratio(array, right_in(answer, trial))) for trial, array in pairs]
    if any(ratio is None and np.any(right_in(answer, trial)) for trial, ratio in found):
        return []
    return [(trial, ratio) for trial, ratio in found if ratio is not None]


def one_ratio(array: np.ndarray, right: np.ndarray) -> float | None:
    """The one factor between two arrays, `None` where there is none."""
    if array.shape != right.shape or not np.any(right):
        return None
    value = float((array * right).sum() / (right * right).sum())
    return value if value and scaled_error(array, value * right) < MATCH else None


def _sized_ratio(known: Sequence[tuple[Trial, float]], averages: bool) -> tuple[str, str] | None:
    trial, first = known[0]
    for name, size in _quantities(trial).items():
        for power in (-1, 1):
            left = [r * _quantities(t).get(name, 1) ** -power for t, r in known]
            if not all(math.isclose(value, left[0], rel_tol=1e-4) for value in left):
                continue
            here = f"and {name} {'is' if ' ' in name else '='} {size} here"
            if math.isclose(left[0], 1, rel_tol=1e-4):
                if power < 0:
                    return "mean-for-sum", f"every entry is 1/{size} of what it should be, {here}"
                code = "sum-for-mean" if averages else "wrong-factor"
                return code, f"every entry is {size} times what it should be, {here}"
            typed_in = 1 / left[0]
            if power > 0 and averages and math.isclose(typed_in, round(typed_in), rel_tol=1e-4) and typed_in > 1:
                return "hard-coded", f"it is divided by {round(typed_in)}, whatever the size; {name} is {size} here"
            return "wrong-factor", f"every entry is {_number(first)} times what it should be, {here}"
    return _exchanged_sizes(known) or _scalar_ratio(known)


def _exchanged_sizes(known: Sequence[tuple[Trial, float]]) -> tuple[str, str] | None:
    """Divided by the size of one axis where the size of another belongs."""
    axes = [axis for axis in known[0][0].setting.sizes if not axis.startswith("_")]
    for right, wrong in itertools.permutations(axes, 2):
        if all(math.isclose(r, t.setting.sizes[right] / t.setting.sizes[wrong], rel_tol=1e-4) for t, r in known):
            sizes = known[0][0].setting.sizes
            says = f"it is divided by {wrong} ({sizes[wrong]} here), not by {right} ({sizes[right]} here)"
            return "wrong-factor", says
    return None


def _scalar_ratio(known: Sequence[tuple[Trial, float]]) -> tuple[str, str] | None:
    """A factor made from an argument that is a plain number, such as 1 - p, or one that lacks it."""
    trial, first = known[0]
    made = [_scalars(t) for t, _ in known]
    for factor, (name, _) in made[0].items():
        if not all(factor in scalars for scalars in made):
            continue
        left = [r / scalars[factor][1] for (_, r), scalars in zip(known, made, strict=True)]
        if not all(math.isclose(rest, left[0], rel_tol=1e-4) for rest in left):
            continue
        here = f"{name} is {trial.arguments[name]:.4g} here"
        if math.isclose(left[0], 1, rel_tol=1e-4):
            return "wrong-factor", f"every entry is {factor} times what it should be; {here}"
        if trial.out is None:
            says = f"every entry is {_number(left[0])} * {factor} times what it should be; {here}"
            return "wrong-factor", says
        says = f"every entry is {_number(first)} times what it should be: a number is typed in; {here}"
        return "hard-coded", says
    return None


def _scalars(trial: Trial) -> dict[str, tuple[str, float]]:
    """What a factor may be made of: each argument that is a number, its inverse, and for a share what is left of 1."""
    found: dict[str, tuple[str, float]] = {}
    for name, q in trial.arguments.items():
        if type(q) is float and q:
            found |= {name: (name, q), f"1 / {name}": (name, 1 / q)}
            if 0 < q < 1:
                found |= {f"(1 - {name})": (name, 1 - q), f"1 / (1 - {name})": (name, 1 / (1 - q))}
                found |= {f"{name} / (1 - {name})": (name, q / (1 - q)), f"(1 - {name}) / {name}": (name, (1 - q) / q)}
                found |= {f"{name} * (1 - {name})": (name, q * (1 - q))}
    return found


def offset(answer: Answer, pairs: Sequence[Pair]) -> str | None:
    """The right answer plus one and the same number everywhere, in every trial: the clause that says so."""
    if any(array.shape != right_in(answer, trial).shape for trial, array in pairs) or len(_numbers(answer, pairs)) == 1:
        return None
    differences = [array - right_in(answer, trial) for trial, array in pairs]
    number = float(np.median(differences[0])) if differences and differences[0].size else 0.0
    bound = MATCH * max(abs(number), *(float(np.abs(array).max(initial=0.0)) for _, array in pairs))
    if abs(number) <= bound or any(np.abs(difference - number).max(initial=0.0) > bound for difference in differences):
        return None
    return f"{_number(abs(number))} is {'added to' if number > 0 else 'subtracted from'} every entry"


def _numbers(answer: Answer, pairs: Sequence[Pair]) -> set[float]:
    """The numbers that the right answers begin and end with in order of size: one, if they are all the same."""
    return {
        float(end(right)) for trial, _ in pairs if (right := right_in(answer, trial)).size for end in (np.min, np.max)
    }


def slope_typed_in(answer: Answer, pairs: Sequence[Pair]) -> str | None:
    """The upstream gradient times one and the same number in every trial: the clause that says so."""
    trials = [(trial.out_g, array) for trial, array in pairs if trial.out_g is not None]
    if answer.kind != "gradient" or len(trials) < len(pairs):
        return None
    ratios = [one_ratio(array, np.asarray(out_g)) for out_g, array in trials]
    first = ratios[0]
    if first is None or any(r is None or not math.isclose(r, first, rel_tol=1e-4) for r in ratios):
        return None
    return f"every entry is {_number(first)} times out.g, whatever {answer.wrt} is"


def varying_ratio(answer: Answer, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """One factor in each trial, but another one in each: worth saying of an array, not of a single number."""
    known = _ratios(answer, pairs)
    if sum(np.count_nonzero(right_in(answer, trial)) >= 3 for trial, _ in known) < 2:
        return None
    if all(math.isclose(r, 1, rel_tol=1e-2) for _, r in known):
        return None
    first = _number(known[0][1])
    return "wrong-factor", f"every entry is {first} times what it should be here, with another factor elsewhere"


def _quantities(trial: Trial) -> dict[str, int]:
    """Sizes a factor may come from: the axes, then products of two, then numbers of entries."""
    used = {axis: size for axis, size in trial.setting.sizes.items() if not axis.startswith("_")}
    pairs = {f"{a} * {b}": m * n for (a, m), (b, n) in itertools.combinations(used.items(), 2)}
    arrays = {
        f"the number of entries of {name}": value.values.size
        for name, value in trial.arguments.items()
        if isinstance(value, Array)
    }
    left = 1 if trial.out is None else trial.out.numel()
    shared = {
        f"the number of entries of {name} for each of out": value.values.size // left
        for name, value in trial.arguments.items()
        if isinstance(value, Array) and value.values.size > left and value.values.size % left == 0
    }
    along = {
        f"the size of axis {name}": next(iter(_shapes(trial)))[axis]
        for name, axis in trial.arguments.items()
        if type(axis) is int and all(-len(shape) <= axis < len(shape) for shape in _shapes(trial)[:1])
    }
    whole = {name: value for name, value in trial.arguments.items() if type(value) is int and value > 0}
    return {**used, **along, **whole, **pairs, **arrays, **shared}


def _shapes(trial: Trial) -> list[tuple[int, ...]]:
    return [value.values.shape for value in trial.arguments.values() if isinstance(value, Array)]


def _number(value: float) -> str:
    for denominator in range(1, 13):
        numerator = value * denominator
        if abs(numerator - round(numerator)) < 1e-4 * max(1, abs(numerator)) and round(numerator):
            return f"{round(numerator)}" if denominator == 1 else f"{round(numerator)}/{denominator}"
    return f"{value:.4g}"
