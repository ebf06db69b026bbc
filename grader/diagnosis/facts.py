"""What is true of a wrong answer's numbers where no edit gives them: what they follow, and where they are right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from grader.exercise import Answer
from grader.reference.answer_view import End
from grader.reference.compare import agrees, scaled_error, share_wrong
from grader.reference.function_parts import told_by
from grader.reference.option_arguments import options, right_where
from grader.reference.trial import Trial
from grader.shapes import guess_axes
from grader.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND

from .factors import CLOSE, Known, one_ratio, spelt
from .mistake import Fact, Mistake
from .right_answer import MATCH

IMPRECISE = 0.02
NOTHING = 1e-5
LEAST_ZEROS = 0.1
TOLERANCE = 1e-3
LEAST_TRIALS, LEAST_ENTRIES = 2, 5
Pair = tuple[Trial, np.ndarray]


def fact(code: str, name: str, /, **parameters: Any) -> Mistake:
    return Mistake(code, (Fact(name, parameters),))


def right_in(answer: Answer, trial: Trial) -> np.ndarray:
    """The right array in a trial; a zero where nothing may be stored."""
    return End(answer, trial).right


def off(array: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays differ by more than rounding."""
    found: np.ndarray = np.abs(array - other) > MATCH * np.abs(other).max(initial=0.0)
    return found


def same_shapes(answer: Answer, pairs: Sequence[Pair]) -> bool:
    return all(array.shape == right_in(answer, trial).shape for trial, array in pairs)


def constant(pairs: Sequence[Pair], *, trivial: bool = False) -> Mistake | None:
    """The same number everywhere, in every trial, whatever the inputs.

    Args:
        trivial: 0 and 1 count too, which often come from elsewhere.
    """
    values = {float(value) for _, array in pairs for value in np.unique(array)[:2]}
    if len(values) != 1 or len(pairs) < 2 or (not trivial and values <= {0.0, 1.0}):
        return None
    return fact("hard-coded", "constant", number=f"{values.pop() + 0.0:g}")


def nothing(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """0 but for rounding, in every trial, and not so the right answer."""
    sizes = [
        (np.abs(array).max(initial=0.0), np.abs(right_in(answer, trial)).max(initial=0.0)) for trial, array in pairs
    ]
    if (
        len(pairs) < 2
        or not any(array for array, _ in sizes)
        or not all(array <= NOTHING * right for array, right in sizes)
    ):
        return None
    return fact("hard-coded", "zero-but-for-rounding")


def same_shape(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """The same shape in every trial, though the sizes change."""
    shapes = {array.shape for _, array in pairs}
    expected = {right_in(answer, trial).shape for trial, _ in pairs}
    if len(shapes) != 1 or len(expected) < 2 or max(next(iter(shapes)), default=1) == 1:
        return None
    return fact("hard-coded", "same-shape", shape=list(shapes.pop()))


def imprecise(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    errors = [scaled_error(array, right_in(answer, trial)) for trial, array in pairs]
    return fact("imprecise", "nearly-right", error=f"{max(errors):.1e}") if max(errors) < IMPRECISE else None


def slope_typed_in(end: End, pairs: Sequence[Pair]) -> Mistake | None:
    """The upstream gradient times one and the same number in every trial."""
    given = [(trial.out_g, array) for trial, array in pairs if trial.out_g is not None]
    if not end.is_gradient or len(given) < len(pairs):
        return None
    ratios = [one_ratio(array, np.asarray(out_g)) for out_g, array in given]
    first = ratios[0]
    if first is None or any(r is None or not math.isclose(r, first, rel_tol=CLOSE) for r in ratios):
        return None
    return fact("hard-coded", "slope-typed-in", number=spelt(first), upstream=end.upstream_name or "1",
                variable=end.answer.wrt)  # fmt: skip


def offset(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """The right answer plus one and the same number everywhere, in every trial."""
    if not same_shapes(answer, pairs) or len(_numbers(answer, pairs)) == 1:
        return None
    differences = [array - right_in(answer, trial) for trial, array in pairs]
    number = float(np.median(differences[0])) if differences and differences[0].size else 0.0
    bound = MATCH * max(abs(number), *(float(np.abs(array).max(initial=0.0)) for _, array in pairs))
    if abs(number) <= bound or any(np.abs(difference - number).max(initial=0.0) > bound for difference in differences):
        return None
    return fact(
        "wrong-local", "offset", number=spelt(abs(number)), verb="added to" if number > 0 else "subtracted from"
    )


def _numbers(answer: Answer, pairs: Sequence[Pair]) -> set[float]:
    """The numbers that the right answers begin and end with in order of size: one, if they are all the same."""
    return {
        float(end(right)) for trial, _ in pairs if (right := right_in(answer, trial)).size for end in (np.min, np.max)
    }


def ratios(answer: Answer, pairs: Sequence[Pair]) -> Known:
    """The factor in each trial whose reference is not zero; empty if one of them has no single factor."""
    found = [(trial, one_ratio(array, right_in(answer, trial))) for trial, array in pairs]
    if any(ratio is None and np.any(right_in(answer, trial)) for trial, ratio in found):
        return []
    return [(trial, ratio) for trial, ratio in found if ratio is not None]


def varying_ratio(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """One factor in each trial, but another one in each: worth saying of an array, not of a single number."""
    known = ratios(answer, pairs)
    if sum(np.count_nonzero(right_in(answer, trial)) >= 3 for trial, _ in known) < 2:
        return None
    if all(math.isclose(r, 1, rel_tol=1e-2) for _, r in known):
        return None
    off_by = [r for _, r in known if not math.isclose(r, 1, rel_tol=1e-2)]
    right = len(known) - len(off_by)
    return fact("wrong-factor", "varying-factor", factor=spelt(off_by[0]), right=right, trials=len(known))


def a_step(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """The variable itself with a multiple of its gradient added: what training does with a gradient."""
    if answer.kind != "gradient" or not same_shapes(answer, pairs):
        return None
    moved = [array - np.asarray(trial.inputs[answer.wrt]) for trial, array in pairs]
    rates = [one_ratio(step, right_in(answer, trial)) for step, (trial, _) in zip(moved, pairs, strict=True)]
    rate = rates[0]
    if rate is None or len(rates) < 2 or any(r is None or not math.isclose(r, rate, rel_tol=1e-2) for r in rates):
        return None
    if math.isclose(abs(rate), 1, rel_tol=1e-2):  # more likely a sum than a step
        return None
    verb = "less" if rate < 0 else "plus"
    return fact("wrong-local", "step-of-training", variable=answer.wrt, verb=verb, number=f"{abs(rate):.3g}")


def mixed_with_prior(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """The old and the new gradient are added, each with its own weight in all trials."""
    ends = [(End(answer, trial), array) for trial, array in pairs]
    known = [
        (np.stack([end.new, end.prior]).reshape(2, -1), array.flatten())
        for end, array in ends
        if end.prior is not None and array.shape == end.prior.shape
    ]
    parts, found = (np.concatenate(arrays, axis=-1) for arrays in zip(*known, strict=True)) if known else (None, None)
    if parts is None or found is None or len(known) < LEAST_TRIALS or found.size < LEAST_ENTRIES:
        return None
    weights = np.linalg.lstsq(parts.T, found, rcond=None)[0]
    if scaled_error(found, weights @ parts) > MATCH or abs(weights[0] - weights[1]) < TOLERANCE:
        return None
    return fact("wrong-factor", "weights-of-prior", new=f"{weights[0]:.3g}", before=f"{weights[1]:.3g}")


def passes_where(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """Where an answer is right in some trials, and something tells these from the others."""
    told = [(trial, array) for trial, array in pairs if np.any(right_in(answer, trial))] or pairs  # zeros come easily
    right = [trial for trial, array in told if agrees(array, right_in(answer, trial))]
    wrong = [trial for trial, array in told if not agrees(array, right_in(answer, trial))]
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
    if (where := right_where(answer, right, wrong)) and not _sizes_tell(right, wrong):
        return fact("hard-coded", "right-only-where", where=where)
    if not same_shapes(answer, pairs):
        return None
    ranks = [{trial.setting.rank for trial in trials} for trials in (right, wrong)]
    if not ranks[0] & ranks[1] and any(axis.startswith("_") for axis in right[0].setting.sizes):
        return fact("shape-special", "right-only-for-rank", rank=ranks[0].pop())
    return None


def wrong_with(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """What the functions have that an answer is wrong for, and those that it is right for have not."""
    right = [trial for trial, array in pairs if agrees(array, right_in(answer, trial))]
    wrong = [trial for trial, array in pairs if not agrees(array, right_in(answer, trial))]
    name, parts = told_by(right, wrong)
    spelled = " or ".join(f"`{part}`" for part in parts)
    return fact("wrong-local", "wrong-with", name=name, parts=spelled) if parts else None


def _sizes_tell(right: Sequence[Trial], wrong: Sequence[Trial]) -> bool:
    """A trial with the options of a right one is wrong: it is not the options that decide."""
    chosen = [[tuple(options(trial).items()) for trial in trials] for trials in (right, wrong)]
    return any(one in chosen[1] for one in chosen[0])


def _kinds(trials: Sequence[Trial]) -> list[list[Any]]:
    known = {
        trial.setting.kind: [[axis, size] for axis, size in trial.setting.sizes.items() if not axis.startswith("_")]
        for trial in reversed(trials)
    }
    return [[kind, sizes] for kind, sizes in reversed(known.items())]


def right_for_one_alone(answer: Answer, pairs: Sequence[Pair]) -> bool:
    """Right in every batch of one and nowhere else: what belongs to one example is mixed with others."""
    right = [agrees(array, right_in(answer, trial)) for trial, array in pairs]
    return any(right) and right == [trial.setting.kind == ONE_KIND for trial, _ in pairs]


def not_zero(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """Right wherever the right answer is not zero, and something where it is."""
    if not same_shapes(answer, pairs):
        return None
    rights = [right_in(answer, trial) for trial, _ in pairs]
    zeros = sum(int((right == 0).sum()) for right in rights)
    if zeros < LEAST_ZEROS * sum(right.size for right in rights):
        return None
    wrong = 0
    for (_, array), right in zip(pairs, rights, strict=True):
        differs = off(array, right)
        if bool((differs & (right != 0)).any()):
            return None
        wrong += int((differs & (right == 0)).sum())
    return fact("wrong-local", "not-zero", wrong=wrong, zeros=zeros) if wrong else None


def another_mask(
    answer: Answer, pairs: Sequence[Pair], closed: Iterator[Callable[[Trial], np.ndarray]]
) -> Mistake | None:
    """Each entry is either 0 or has its gradient in full, as it should be, but not the right ones.

    Args:
        closed: ways to compute what the entries have that must be 0.
    """
    if not any(np.any(array) for _, array in pairs):
        return None
    for compute in closed:
        opened = [right_in(answer, trial) + compute(trial) for trial, _ in pairs]
        if all(_is_masked(array, full) for (_, array), full in zip(pairs, opened, strict=True)):
            return _first_gate(answer, pairs)
    return None


def _is_masked(array: np.ndarray, full: np.ndarray) -> bool:
    return array.shape == full.shape and not bool((off(array, full) & (array != 0)).any())


def _first_gate(answer: Answer, pairs: Sequence[Pair]) -> Mistake | None:
    """The first entry whose gate is wrong, with the input it belongs to."""
    for trial, array in pairs:
        for index in np.argwhere(off(array, right_in(answer, trial)))[:1]:
            place = tuple(int(i) for i in index)
            return fact("wrong-local", "another-mask", passes=bool(array[place]), **_entry(answer, trial, place))
    return None


def _entry(answer: Answer, trial: Trial, place: tuple[int, ...]) -> dict[str, Any]:
    """One entry of the variable with its value; of a Jacobian, one of its own entries."""
    if answer.kind == "jacobian":
        return {"name": "", "place": list(place), "value": ""}
    value = float(trial.inputs[answer.wrt][place])
    return {"name": answer.wrt, "place": list(place), "value": f"{value:.3g}"}


def by_upstream(end: End, pairs: Sequence[Pair]) -> Mistake | None:
    """What the answer makes of the upstream gradient, seen where only that has changed."""
    upstream_name = end.upstream_name or "1"
    for (trial, array), (other, changed) in itertools.combinations(pairs, 2):
        if trial.inputs is not other.inputs or trial.out_g is other.out_g or trial.out_g is None or other.out_g is None:
            continue
        rights = right_in(end.answer, trial), right_in(end.answer, other)
        if array.shape != rights[0].shape or not bool(off(array, rights[0]).any()) or not np.any(array):
            continue
        if not bool(off(changed, array).any()):
            return fact("missing-upstream", "upstream-not-in-it", upstream=upstream_name)
        upstream = np.asarray(trial.out_g), np.asarray(other.out_g)
        if _entry_by_entry(array, changed, *upstream[::-1]) and _entry_by_entry(*rights, *upstream):
            return fact("not-linear", "upstream-in-denominator", upstream=upstream_name)
        if not _entry_by_entry(array, changed, *upstream) or one_ratio(array, rights[0]) is not None:
            continue
        if _entry_by_entry(*rights, *upstream):
            return _slopes(end, trial, array, rights[0], upstream[0])
        return fact("diagonal-only", "own-upstream-only", upstream=upstream_name)
    return None


def _entry_by_entry(array: np.ndarray, changed: np.ndarray, g: np.ndarray, other: np.ndarray) -> bool:
    """Each entry is its own upstream gradient, times something that does not depend on any."""
    return array.shape == g.shape == changed.shape and not bool(off(array * other, changed * g).any())


def _slopes(end: End, trial: Trial, array: np.ndarray, right: np.ndarray, g: np.ndarray) -> Mistake:
    """The entry that is furthest off, with the local derivative that was used there and the right one."""
    place = tuple(int(i) for i in np.unravel_index(int(np.abs(array - right).argmax()), right.shape))
    used, slope = (float(values[place] / g[place]) for values in (array, right))
    told = {"used": f"{used:.3g}", "slope": f"{slope:.3g}", "upstream": end.upstream_name or "1"}
    return fact("wrong-local", "another-slope", **told, **_entry(end.answer, trial, place))


def broadcast_accident(answer: Answer, trial: Trial, array: np.ndarray) -> Mistake | None:
    """The answer has the shape that two inputs make when they are broadcast against each other."""
    shapes = {name: tuple(value.shape) for name, value in trial.inputs.items() if hasattr(value, "shape")}
    for a, b in itertools.combinations(shapes, 2):
        wide = _broadcast(shapes[a], shapes[b])
        if array.ndim and wide == array.shape and wide not in (shapes[a], shapes[b]):
            return fact("broadcast-accident", "broadcast", a=a, b=b, **_shapes(answer, trial, array))
    return None


def _broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return None


def wrong_shape(answer: Answer, trial: Trial, array: np.ndarray) -> Mistake:
    owner = answer.wrt if answer.kind == "gradient" else ""
    chosen = [[name, str(value)] for name, value in options(trial).items()]
    return fact("wrong-shape", "wrong-shape", owner=owner, options=chosen, **_shapes(answer, trial, array))


def _shapes(answer: Answer, trial: Trial, array: np.ndarray) -> dict[str, Any]:
    """The learner's shape and the right one, with axis names."""
    sizes, right = trial.setting.sizes, right_in(answer, trial)
    axes = trial.axes(answer.wrt) if answer.kind == "gradient" else None
    return {
        "shape": _axes(guess_axes(array.shape, sizes), array.shape),
        "expected": _axes(axes if axes and len(axes) == right.ndim else guess_axes(right.shape, sizes), right.shape),
    }


def _axes(names: Sequence[str], shape: Sequence[int]) -> list[list[Any]]:
    return [
        ["" if name.startswith("_") or name.isdigit() else name, size] for name, size in zip(names, shape, strict=True)
    ]


def unknown(answer: Answer, pairs: Sequence[Pair]) -> Mistake:
    """How many entries are wrong, and by how much."""
    trial, array = next((t, a) for t, a in pairs if not agrees(a, right_in(answer, t)))
    right = right_in(answer, trial)
    error = scaled_error(array, right)
    wrong = round(share_wrong(array, right) * array.size)
    told = {"wrong": wrong, "entries": array.size, "error": f"{error:.2g}" if error < 100 else f"{error:.0f}"}
    return fact("unknown", "unknown", **told, alone=right_for_one_alone(answer, pairs))
