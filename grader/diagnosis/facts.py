"""What is true of a wrong answer's numbers where no edit gives them: what they follow, and where they are right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from grader.exercise import Answer
from grader.reference.answer_view import End
from grader.reference.compare import MATCH, agrees, scaled_error, share_wrong
from grader.reference.function_parts import told_by
from grader.reference.option_arguments import options, right_where
from grader.reference.symbolic_numbers import CLOSE, spelt
from grader.reference.trial import Trial
from grader.shapes import guess_axes
from grader.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND

from .factors import Known, one_ratio
from .mistake import Fact, Mistake

IMPRECISE = 0.02
NOTHING = 1e-5
LEAST_ZEROS = 0.1
TOLERANCE = 1e-3
LEAST_TRIALS, LEAST_ENTRIES = 2, 5
Pair = tuple[Trial, np.ndarray]


class Wrong(NamedTuple):
    """A wrong array in one trial, next to the right one: a zero where nothing may be stored."""

    trial: Trial
    array: np.ndarray
    right: np.ndarray

    @property
    def has_shape(self) -> bool:
        return self.array.shape == self.right.shape

    @property
    def agrees(self) -> bool:
        return agrees(self.array, self.right)


Given = Sequence[Wrong]


def wrong_in(answer: Answer, pairs: Sequence[Pair]) -> list[Wrong]:
    return [Wrong(trial, array, End(answer, trial).right) for trial, array in pairs]


def fact(code: str, name: str, /, **parameters: Any) -> Mistake:
    return Mistake(code, (Fact(name, parameters),))


def off(array: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays differ by more than rounding."""
    found: np.ndarray = np.abs(array - other) > MATCH * np.abs(other).max(initial=0.0)
    return found


def same_shapes(given: Given) -> bool:
    return all(one.has_shape for one in given)


def constant(given: Given, *, trivial: bool = False) -> Mistake | None:
    """The same number everywhere, in every trial, whatever the inputs.

    Args:
        trivial: 0 and 1 count too, which often come from elsewhere.
    """
    values = {float(value) for one in given for value in np.unique(one.array)[:2]}
    if len(values) != 1 or len(given) < 2 or (not trivial and values <= {0.0, 1.0}):
        return None
    return fact("hard-coded", "constant", number=f"{values.pop() + 0.0:g}")


def nothing(given: Given) -> Mistake | None:
    """0 but for rounding, in every trial, and not so the right answer."""
    sizes = [(np.abs(one.array).max(initial=0.0), np.abs(one.right).max(initial=0.0)) for one in given]
    tiny = all(array <= NOTHING * right for array, right in sizes)
    if len(given) < 2 or not tiny or not any(array for array, _ in sizes):
        return None
    return fact("hard-coded", "zero-but-for-rounding")


def same_shape(given: Given) -> Mistake | None:
    """The same shape in every trial, though the sizes change."""
    shapes, expected = {one.array.shape for one in given}, {one.right.shape for one in given}
    if len(shapes) != 1 or len(expected) < 2 or max(next(iter(shapes)), default=1) == 1:
        return None
    return fact("hard-coded", "same-shape", shape=list(shapes.pop()))


def imprecise(given: Given, *, most: float = IMPRECISE) -> Mistake | None:
    """Nearly right in every trial, up to an error of some size in proportion to the largest entry."""
    error = max(scaled_error(one.array, one.right) for one in given)
    return fact("imprecise", "nearly-right", error=f"{error:.1e}") if error < most else None


def offset(given: Given) -> Mistake | None:
    """The right answer plus one and the same number everywhere, in every trial."""
    numbers = {float(end(one.right)) for one in given if one.right.size for end in (np.min, np.max)}
    if not same_shapes(given) or len(numbers) == 1:
        return None
    differences = [one.array - one.right for one in given]
    number = float(np.median(differences[0])) if differences and differences[0].size else 0.0
    bound = MATCH * max(abs(number), *(float(np.abs(one.array).max(initial=0.0)) for one in given))
    if abs(number) <= bound or any(np.abs(difference - number).max(initial=0.0) > bound for difference in differences):
        return None
    verb = "added to" if number > 0 else "subtracted from"
    return fact("wrong-local", "offset", number=spelt(abs(number)), verb=verb)


def ratios(given: Given) -> Known:
    """The factor in each trial whose reference is not zero; empty if one of them has no single factor."""
    found = [(one, one_ratio(one.array, one.right)) for one in given]
    if any(ratio is None and np.any(one.right) for one, ratio in found):
        return []
    return [(one.trial, ratio) for one, ratio in found if ratio is not None]


def varying_ratio(given: Given) -> Mistake | None:
    """One factor in each trial, but another one in each: worth saying of an array, not of a single number."""
    known = [ratio for _, ratio in ratios(given)]
    telling = sum(np.count_nonzero(one.right) >= 3 for one in given)
    off_by = [ratio for ratio in known if not math.isclose(ratio, 1, rel_tol=1e-2)]
    if not known or telling < 2 or not off_by or math.isclose(min(known), max(known), rel_tol=1e-2):
        return None
    right = len(known) - len(off_by)
    return fact("wrong-factor", "varying-factor", factor=spelt(off_by[0]), right=right, trials=len(known))


def a_step(answer: Answer, given: Given) -> Mistake | None:
    """The variable itself with a multiple of its gradient added: what training does with a gradient."""
    if answer.kind != "gradient" or not same_shapes(given):
        return None
    rates = [one_ratio(one.array - np.asarray(one.trial.inputs[answer.wrt]), one.right) for one in given]
    rate = rates[0]
    if rate is None or len(rates) < 2 or any(r is None or not math.isclose(r, rate, rel_tol=1e-2) for r in rates):
        return None
    if math.isclose(abs(rate), 1, rel_tol=1e-2):  # more likely a sum than a step
        return None
    verb = "less" if rate < 0 else "plus"
    return fact("wrong-local", "step-of-training", variable=answer.wrt, verb=verb, number=f"{abs(rate):.3g}")


def mixed_with_prior(answer: Answer, given: Given) -> Mistake | None:
    """The old and the new gradient are added, each with its own weight in all trials."""
    ends = [(End(answer, one.trial), one.array) for one in given]
    known = [
        (np.stack([end.new, end.prior]).reshape(2, -1), array.flatten())
        for end, array in ends
        if end.prior is not None and array.shape == end.prior.shape
    ]
    if len(known) < LEAST_TRIALS or sum(array.size for _, array in known) < LEAST_ENTRIES:
        return None
    parts, found = (np.concatenate(arrays, axis=-1) for arrays in zip(*known, strict=True))
    weights = np.linalg.lstsq(parts.T, found, rcond=None)[0]
    if scaled_error(found, weights @ parts) > MATCH or abs(weights[0] - weights[1]) < TOLERANCE:
        return None
    return fact("wrong-factor", "weights-of-prior", new=f"{weights[0]:.3g}", before=f"{weights[1]:.3g}")


def passes_where(answer: Answer, given: Given) -> Mistake | None:
    """Return the mistake of an answer that is right in some trials only, if their settings tell which; else `None`."""
    right, wrong = _apart(_informative(given))
    if not right or not wrong:
        return None
    kinds = [{trial.setting.kind for trial in trials} for trials in (right, wrong)]
    if kinds[0] == {ONE_KIND}:
        return None  # one example alone hides whatever mixes several
    if not kinds[0] & kinds[1]:
        for trials, name in ((right, "right-only-in"), (wrong, "right-except-in")):
            if {trial.setting.kind for trial in trials} <= {ONE_KIND, "a square case"}:
                return fact("shape-special", name, kinds=_kinds(trials))
    if kinds[1] == {LARGE_UPSTREAM_KIND}:
        return fact("not-linear", "right-for-small-upstream")
    if where := right_where(answer, right, wrong):
        return fact("hard-coded", "right-only-where", where=where)
    ranks = [{trial.setting.rank for trial in trials} for trials in (right, wrong)]
    any_rank = any(axis.startswith("_") for axis in right[0].setting.sizes)
    if same_shapes(given) and any_rank and not ranks[0] & ranks[1]:
        return fact("shape-special", "right-only-for-rank", rank=ranks[0].pop())
    return None


def _informative(given: Given) -> Given:
    """Return the samples whose right answer is not all zero, as many mistakes give zeros too; all if none is left."""
    return [one for one in given if np.any(one.right)] or given


def _apart(given: Given) -> tuple[list[Trial], list[Trial]]:
    """The trials with a right answer, and the others."""
    return [one.trial for one in given if one.agrees], [one.trial for one in given if not one.agrees]


def wrong_with(given: Given) -> Mistake | None:
    """Return the mistake of an answer that is wrong exactly for functions with a certain part; else `None`."""
    name, parts = told_by(*_apart(_informative(given)))
    spelled = " or ".join(f"`{part}`" for part in parts)
    return fact("wrong-local", "wrong-with", name=name, parts=spelled) if parts else None


def _kinds(trials: Sequence[Trial]) -> list[list[Any]]:
    known = {
        trial.setting.kind: [[axis, size] for axis, size in trial.setting.sizes.items() if not axis.startswith("_")]
        for trial in reversed(trials)
    }
    return [[kind, sizes] for kind, sizes in reversed(known.items())]


def not_zero(given: Given) -> Mistake | None:
    """Right wherever the right answer is not zero, and something where it is."""
    zeros = sum(int((one.right == 0).sum()) for one in given)
    if not same_shapes(given) or zeros < LEAST_ZEROS * sum(one.right.size for one in given):
        return None
    differs = [(off(one.array, one.right), one.right == 0) for one in given]
    wrong = sum(int(here.sum()) for here, _ in differs)
    if not wrong or any(bool((here & ~zero).any()) for here, zero in differs):
        return None
    return fact("wrong-local", "not-zero", wrong=wrong, zeros=zeros)


def another_mask(answer: Answer, given: Given, closed: Iterable[Sequence[np.ndarray]]) -> Mistake | None:
    """Each entry is either 0 or has its gradient in full, as it should be, but not the right ones.

    Args:
        closed: what the entries may have that must be 0, in each trial.
    """
    first = next((one for one in given if one.has_shape and off(one.array, one.right).any()), None)
    if first is None or not any(np.any(one.array) for one in given):
        return None
    for arrays in closed:
        opened = [(one.array, one.right + more) for one, more in zip(given, arrays, strict=True)]
        if all(array.shape == full.shape and not (off(array, full) & (array != 0)).any() for array, full in opened):
            place = tuple(int(i) for i in np.argwhere(off(first.array, first.right))[0])
            told = {"passes": bool(first.array[place]), **_entry(answer, first.trial, place)}
            return fact("wrong-local", "another-mask", **told)
    return None


def _entry(answer: Answer, trial: Trial, place: tuple[int, ...]) -> dict[str, Any]:
    """Return the name, index and value of an entry of the variable, as message fields.

    For a Jacobian or a value, whose entries are its own, the name and the value are empty.
    """
    if answer.kind != "gradient":
        return {"name": "", "place": list(place), "value": ""}
    value = float(trial.inputs[answer.wrt][place])
    return {"name": answer.wrt, "place": list(place), "value": f"{value:.3g}"}


def wrong_where_exact(answer: Answer, trial: Trial, wrong: np.ndarray) -> Mistake:
    """Return the mistake of an answer that is wrong only in a trial with exact zeros and equal entries.

    Args:
        wrong: a mask of the wrong entries, shaped like the answer.
    """
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    code = "wrong-local" if answer.wrt else "unknown"
    told = {"wrong": int(wrong.sum()), "entries": wrong.size, **_entry(answer, trial, place)}
    return fact(code, "wrong-where-exact", **told)


def by_upstream(end: End, given: Given) -> Mistake | None:
    """Return the mistake in the use of the upstream gradient, seen in trials that differ in it alone; else `None`."""
    upstream_name = end.upstream_name or "1"
    for one, other in itertools.combinations(given, 2):
        g, other_g = one.trial.out_g, other.trial.out_g
        if one.trial.inputs is not other.trial.inputs or g is other_g or g is None or other_g is None:
            continue
        if not one.has_shape or not bool(off(one.array, one.right).any()) or not np.any(one.array):
            continue
        if not bool(off(other.array, one.array).any()) and bool(off(other.right, one.right).any()):
            return fact("missing-upstream", "upstream-not-in-it", upstream=upstream_name)
        arrays, rights = (one.array, other.array), (one.right, other.right)
        upstream = np.asarray(g), np.asarray(other_g)
        if _entry_by_entry(*arrays, *upstream[::-1]) and _entry_by_entry(*rights, *upstream):
            return fact("not-linear", "upstream-in-denominator", upstream=upstream_name)
        if not _entry_by_entry(*arrays, *upstream) or one_ratio(one.array, one.right) is not None:
            continue
        if _entry_by_entry(*rights, *upstream):
            return _slope_typed_in(end, given) or _slopes(end, one, upstream[0])
        return fact("diagonal-only", "own-upstream-only", upstream=upstream_name)
    return None


def _entry_by_entry(array: np.ndarray, changed: np.ndarray, g: np.ndarray, other: np.ndarray) -> bool:
    """Each entry is its own upstream gradient, times something that does not depend on any."""
    return array.shape == g.shape == changed.shape and not bool(off(array * other, changed * g).any())


def _slope_typed_in(end: End, given: Given) -> Mistake | None:
    slopes = [one_ratio(one.array, np.asarray(one.trial.out_g)) or 0.0 for one in given]
    if not slopes[0] or np.ptp(slopes) > CLOSE * abs(slopes[0]):
        return None
    told = {"upstream": end.upstream_name or "1", "variable": end.answer.wrt}
    return fact("hard-coded", "slope-typed-in", number=spelt(slopes[0]), **told)


def _slopes(end: End, one: Wrong, g: np.ndarray) -> Mistake:
    """The entry that is furthest off, with the local derivative that was used there and the right one."""
    place = tuple(int(i) for i in np.unravel_index(int(np.abs(one.array - one.right).argmax()), one.right.shape))
    used, slope = (float(values[place] / g[place]) for values in (one.array, one.right))
    told = {"used": f"{used:.3g}", "slope": f"{slope:.3g}", "upstream": end.upstream_name or "1"}
    return fact("wrong-local", "another-slope", **told, **_entry(end.answer, one.trial, place))


def broadcast_accident(answer: Answer, one: Wrong) -> Mistake | None:
    """The answer has the shape that two inputs make when they are broadcast against each other."""
    shapes = {name: tuple(value.shape) for name, value in one.trial.inputs.items() if hasattr(value, "shape")}
    for a, b in itertools.combinations(shapes, 2):
        try:
            wide = np.broadcast_shapes(shapes[a], shapes[b])
        except ValueError:
            continue
        if one.array.ndim and wide == one.array.shape and wide not in (shapes[a], shapes[b]):
            return fact("broadcast-accident", "broadcast", a=a, b=b, **_shapes(answer, one))
    return None


def wrong_shape(answer: Answer, one: Wrong) -> Mistake:
    owner = answer.wrt if answer.kind == "gradient" else ""
    chosen = [[name, str(value)] for name, value in options(one.trial).items()]
    return fact("wrong-shape", "wrong-shape", owner=owner, options=chosen, **_shapes(answer, one))


def _shapes(answer: Answer, one: Wrong) -> dict[str, Any]:
    """The learner's shape and the right one, with axis names."""
    sizes, right = one.trial.setting.sizes, one.right
    axes = one.trial.axes(answer.wrt) if answer.kind == "gradient" else None
    return {
        "shape": _axes(guess_axes(one.array.shape, sizes), one.array.shape),
        "expected": _axes(axes if axes and len(axes) == right.ndim else guess_axes(right.shape, sizes), right.shape),
    }


def _axes(names: Sequence[str], shape: Sequence[int]) -> list[list[Any]]:
    return [
        ["" if name.startswith("_") or name.isdigit() else name, size] for name, size in zip(names, shape, strict=True)
    ]


def unknown(given: Given) -> Mistake:
    """Return the facts of an unknown mistake: wrong entries, error, and whether only batches of one are right."""
    _, array, right = next(one for one in given if not one.agrees)
    error = scaled_error(array, right)
    wrong = round(share_wrong(array, right) * array.size)
    informative = _informative(given)
    alone = {one.agrees for one in informative} == {True, False} and all(
        one.agrees == (one.trial.setting.kind == ONE_KIND) for one in informative
    )
    told = {"wrong": wrong, "entries": array.size, "error": f"{error:.2g}" if error < 100 else f"{error:.0f}"}
    return fact("unknown", "unknown", **told, alone=alone)


def nothing_to_compare() -> Mistake:
    """Return the fact that no trial is left in which the answer can be compared."""
    return fact("unknown", "nothing-to-compare")


def plain(answer: Answer, given: Given) -> Mistake:
    """Return the facts that need no search: a wrong shape, or how many entries are wrong and by how much."""
    misshapen = next((one for one in given if not one.has_shape), None)
    if misshapen is not None:
        return wrong_shape(answer, misshapen)
    return nothing_to_compare() if all(one.agrees for one in given) else unknown(given)
