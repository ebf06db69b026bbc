"""Which factor two arrays differ by, read as an expression of the sizes and the plain numbers of the forward pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.reference.compare import MATCH, scaled_error
from grader.reference.quantities import axes, numbers, quantities
from grader.reference.symbolic_numbers import CLOSE, SHAPES_OF_FACTORS, bracketed, spelt
from grader.reference.trial import Trial

LOOSE = 10.0  # how much further a factor may be off a form that is still looked at closely


@dataclass(frozen=True)
class Factor:
    """A factor that is known in every trial.

    Args:
        code: the public code of an answer that is off by it.
        name: which fact it is; its words stand under it in `words.yaml`.
        parameters: what these words speak of.
    """

    code: str
    name: str
    parameters: Mapping[str, Any]


Known = Sequence[tuple[Trial, float]]


def one_ratio(array: np.ndarray, right: np.ndarray) -> float | None:
    """The one factor between two arrays, `None` where there is none."""
    if array.shape != right.shape or not np.any(right):
        return None
    with np.errstate(all="ignore"):
        value = float((array * right).sum() / (right * right).sum())
    return value if value and math.isfinite(value) and scaled_error(array, value * right) < MATCH else None


def decoded(known: Known, averages: bool) -> Factor | None:
    """What a factor is that is known in each trial; `None` where it is 1, or follows nothing known.

    Args:
        averages: the forward pass takes a mean.
    """
    if len(known) < 2 or all(math.isclose(r, 1, rel_tol=1e-2) for _, r in known):
        return None
    first = known[0][1]
    if _all_close(r for _, r in known):
        if math.isclose(first, -1, rel_tol=CLOSE):
            return Factor("wrong-sign", "factor-sign", {})
        return Factor("wrong-factor", "factor-number", {"factor": spelt(first)})
    if all(r < 0 for _, r in known):
        turned = decoded([(t, -r) for t, r in known], averages)
        return None if turned is None else Factor(turned.code, turned.name, {**turned.parameters, "negative": True})
    return _of_size(known, averages) or _of_sizes(known) or _of_roots(known) or _of_numbers(known)


class Forms:
    """The shapes that a factor may have as far as it varies between some trials: a number, and whatever has a size."""

    @np.errstate(all="ignore")  # a size may be 0
    def __init__(self, trials: Sequence[Trial]) -> None:
        """Compute each form in each trial; shape: (forms, trials), with NaN where a trial has no such thing."""
        sizes, shares = [quantities(trial) for trial in trials], [numbers(trial) for trial in trials]
        every = [np.ones(len(trials))]
        for name in dict.fromkeys(name for own in sizes for name in own):
            size = np.array([own.get(name, 1) for own in sizes], dtype=float)
            is_known = np.array([name in own for own in sizes])
            every += [size, 1 / size]
            every += [np.where(is_known, _values(shape, size), np.nan) for shape in SHAPES_OF_FACTORS.values()]
        named = [axes(trial) for trial in trials]
        common = {
            name: np.array([own[name] for own in named]) for name in named[0] if all(name in own for own in named)
        }
        every += [common[a] / common[b] for a, b in itertools.permutations(common, 2)]
        for name in dict.fromkeys(name for own in shares for name in own):
            every.append(np.array([own[name][1] if name in own else np.nan for own in shares]))
        self._values = np.array(every)

    def fit(self, places: Sequence[int], ratios: Sequence[float]) -> bool:
        """Return whether a factor may follow one of the forms, or a multiple of it, in those trials where it is known.

        Args:
            places: which of the trials.
            ratios: the factor in each.
        """
        own = self._values[:, places]
        with np.errstate(all="ignore"):
            off = np.abs(own / own[:, :1] * (ratios[0] / np.array(ratios)) - 1)
        return bool((off <= LOOSE * CLOSE).all(1).any())


def _values(shape: Callable[[float], float], sizes: np.ndarray) -> list[float]:
    """Return what a form gives for some sizes; NaN where it gives nothing."""
    values = []
    for size in sizes:
        try:
            values.append(shape(float(size)))
        except ZeroDivisionError:
            values.append(math.nan)
    return values


def _all_close(values: Iterator[float]) -> bool:
    first, *others = values
    return all(math.isclose(value, first, rel_tol=CLOSE) for value in others)


def _of_size(known: Known, averages: bool) -> Factor | None:
    """One size, or one over it, times a number."""
    for name, size in quantities(known[0][0]).items():
        for power in (-1, 1):
            left = [r * quantities(t).get(name, 1) ** -power for t, r in known]
            if not _all_close(iter(left)):
                continue
            told = {"quantity": name, "size": size, "factor": spelt(known[0][1])}
            if math.isclose(left[0], 1, rel_tol=CLOSE):
                if power < 0:
                    return Factor("mean-for-sum", "factor-divided", told)
                return Factor("sum-for-mean" if averages else "wrong-factor", "factor-multiplied", told)
            typed_in = 1 / left[0]  # a 2 may as well be one that the forward pass has, left out
            if power > 0 and averages and math.isclose(typed_in, round(typed_in), rel_tol=CLOSE) and typed_in > 2.5:
                if other := _of_sizes(known):  # of an axis that is as long in every trial
                    return other
                return Factor("hard-coded", "factor-typed-in", {**told, "number": round(typed_in)})
            expression = f"{spelt(left[0])} / {bracketed(name)}" if power < 0 else f"{spelt(left[0])} * {name}"
            return Factor("wrong-factor", "factor-expression", {**told, "expression": expression})
    return None


def _of_sizes(known: Known) -> Factor | None:
    """Divided by the size of one axis where the size of another belongs."""
    sizes = axes(known[0][0])
    for right, wrong in itertools.permutations(sizes, 2):
        if all(math.isclose(r, axes(t)[right] / axes(t)[wrong], rel_tol=CLOSE) for t, r in known):
            told = {"wrong": wrong, "right": right, "wrong_size": sizes[wrong], "right_size": sizes[right]}
            return Factor("wrong-factor", "factor-other-size", told)
    return None


def _of_roots(known: Known) -> Factor | None:
    """A root or a square of a size, or a size less one, times a number."""
    for name, size in quantities(known[0][0]).items():
        for shape, value in SHAPES_OF_FACTORS.items():
            try:
                left = [r / value(quantities(t)[name]) for t, r in known]
            except (ZeroDivisionError, KeyError):
                continue
            if _all_close(iter(left)):
                form = shape.format(name if "sqrt" in shape else bracketed(name))
                whole = form if math.isclose(left[0], 1, rel_tol=CLOSE) else f"{spelt(left[0])} * {form}"
                told = {"expression": whole, "quantity": name, "size": size}
                return Factor("wrong-factor", "factor-expression", told)
    return None


def _of_numbers(known: Known) -> Factor | None:
    """Made from an argument that is a plain number, such as 1 - p, or one that lacks it."""
    trial, first = known[0]
    made = [numbers(t) for t, _ in known]
    found: dict[str, float] = {}
    for expression in made[0]:
        if all(expression in numbers for numbers in made):
            ratios = [r / numbers[expression][1] for (_, r), numbers in zip(known, made, strict=True)]
            if _all_close(iter(ratios)):
                found[expression] = ratios[0]
    for expression, left in sorted(found.items(), key=lambda pair: not math.isclose(pair[1], 1, rel_tol=CLOSE)):
        name, _ = made[0][expression]
        told = {"quantity": name, "size": float(f"{trial.arguments[name]:.4g}")}
        if math.isclose(left, 1, rel_tol=CLOSE):
            return Factor("wrong-factor", "factor-expression", {"expression": expression, **told})
        if trial.out is None:
            return Factor("wrong-factor", "factor-expression", {"expression": f"{spelt(left)} * {expression}", **told})
        return Factor("hard-coded", "factor-number-typed-in", {"factor": spelt(first), **told})
    return None
