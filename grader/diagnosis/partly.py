"""Answers that are partly right: one path off by a factor, another mask, entries where nothing should be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grader.exercise import Answer
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial

from .ratios import decoded, one_ratio
from .relations import MATCH, Pair, right_in

if TYPE_CHECKING:
    from grader.reference.trace import Place

LEAST_ZEROS = 0.1
ENTRIES_THAT_TELL = 3
Found = tuple[str, str]


def not_zero(answer: Answer, pairs: Sequence[Pair]) -> Found | None:
    """Right wherever the right answer is not zero, and something where it is."""
    rights = [right_in(answer, trial) for trial, _ in pairs]
    if any(array.shape != right.shape for (_, array), right in zip(pairs, rights, strict=True)):
        return None
    zeros = sum(int((right == 0).sum()) for right in rights)
    if zeros < LEAST_ZEROS * sum(right.size for right in rights):
        return None
    wrong = 0
    for (_, array), right in zip(pairs, rights, strict=True):
        off = _off(array, right)
        if bool((off & (right != 0)).any()):
            return None
        wrong += int((off & (right == 0)).sum())
    return ("wrong-local", f"it is right except where it must be 0: {_share(wrong, zeros)}") if wrong else None


def _share(wrong: int, zeros: int) -> str:
    return "there it never is" if wrong == zeros else f"there {wrong} of {zeros} entries are not"


def another_mask(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate]) -> Found | None:
    """Each entry is either blocked or passed on in full, as it should be, but not the right ones."""
    if not any(np.any(array) for _, array in pairs):
        return None
    for candidate in candidates:
        if candidate.code != "inverted-mask":
            continue
        try:
            opened = [right_in(answer, trial) + candidate.compute(trial) for trial, _ in pairs]
        except IMPOSSIBLE:
            continue
        if all(_is_masked(array, full) for (_, array), full in zip(pairs, opened, strict=True)):
            return _which(answer, pairs)
    return None


def _is_masked(array: np.ndarray, full: np.ndarray) -> bool:
    return array.shape == full.shape and not bool((_off(array, full) & (array != 0)).any())


def _which(answer: Answer, pairs: Sequence[Pair]) -> Found | None:
    """The first entry whose gate is wrong, with the input it belongs to."""
    for trial, array in pairs:
        right = right_in(answer, trial)
        for index in np.argwhere(_off(array, right))[:1]:
            place = tuple(int(i) for i in index)
            state = "let through, and must be blocked" if array[place] else "blocked, and must be let through"
            return "wrong-local", f"the mask is another one: {_entry(answer, trial, place)} is {state}"
    return None


def _entry(answer: Answer, trial: Trial, place: tuple[int, ...]) -> str:
    """One entry of the variable with its value; of a Jacobian, one of its own entries."""
    at = f"[{','.join(map(str, place))}]" if place else ""
    if answer.kind == "jacobian":
        return f"entry {at}"
    return f"{answer.wrt}{at} = {float(trial.inputs[answer.wrt][place]):.3g}"


def one_path(
    answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate], averages: bool
) -> tuple[str, str, tuple[Place, ...]] | None:  # fmt: skip
    """One path counts with a factor of its own, and the others are right; the code, the clause, the path."""
    for candidate in candidates:
        if candidate.lacks and (known := _factors(answer, pairs, candidate)) and (found := decoded(known, averages)):
            code, says = found
            path = candidate.lacks
            says = says.replace("every entry", path).replace("it is divided", f"{path} is divided")
            return code, says, candidate.at
    return None


def _factors(answer: Answer, pairs: Sequence[Pair], candidate: Candidate) -> list[tuple[Trial, float]]:
    """By how much the path counts that `candidate` leaves out, in each trial; empty if that is no single number."""
    known = []
    for trial, array in pairs:
        try:
            rest, right = candidate.compute(trial), right_in(answer, trial)
        except IMPOSSIBLE:
            return []
        if array.shape != right.shape or rest.shape != right.shape:
            return []
        factor = one_ratio(array - rest, right - rest)
        if factor is not None:
            known.append((trial, factor))
        elif np.any(right - rest):
            return []
    return known


def a_step(answer: Answer, pairs: Sequence[Pair]) -> Found | None:
    """The variable itself with a multiple of its gradient added: what training does with a gradient."""
    if answer.kind != "gradient" or any(array.shape != right_in(answer, trial).shape for trial, array in pairs):
        return None
    moved = [array - np.asarray(trial.inputs[answer.wrt]) for trial, array in pairs]
    rates = [one_ratio(step, right_in(answer, trial)) for step, (trial, _) in zip(moved, pairs, strict=True)]
    rate = rates[0]
    if rate is None or len(rates) < 2 or any(r is None or not math.isclose(r, rate, rel_tol=1e-2) for r in rates):
        return None
    if math.isclose(abs(rate), 1, rel_tol=1e-2):  # more likely a sum than a step
        return None
    taken = f"{'less' if rate < 0 else 'and'} {abs(rate):.3g} times its gradient"
    return "wrong-local", f"this is {answer.wrt} {taken}: a step of training, no gradient"


def spread_out(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate]) -> Found | None:
    """A share of what comes on one path, or of all of it, is divided evenly among the entries of a row."""
    paths = [(one.lacks, one.compute) for one in candidates if one.lacks]
    for path, compute in (*paths, ("every entry", lambda trial: np.zeros_like(right_in(answer, trial)))):
        try:
            lacking = [right_in(answer, trial) - compute(trial) for trial, _ in pairs]
        except IMPOSSIBLE:
            continue
        if any(lack.ndim < 2 or lack.shape != array.shape for lack, (_, array) in zip(lacking, pairs, strict=True)):
            continue
        shares = [
            one_ratio(array - right_in(answer, trial), lack.mean(-1, keepdims=True) - lack)
            for lack, (trial, array) in zip(lacking, pairs, strict=True)
        ]
        share = shares[0]
        if share and 0 < share < 1 and all(s is not None and math.isclose(s, share, rel_tol=1e-2) for s in shares):
            return "wrong-local", f"{share:.3g} of {path} is spread evenly over its row; the forward pass does not"
    return None


def two_slips(
    answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate], averages: bool
) -> tuple[str, str, tuple[Place, ...]] | None:  # fmt: skip
    """A mistake that has a name, times a factor that has one; the code and the place of the first, the clause."""
    for candidate in candidates:
        if candidate.code == "forward-value":
            continue
        if (known := _times(pairs, candidate)) and (found := decoded(known, averages)):
            factor = found[1].replace("what it should be", "that")
            return candidate.code, f"{candidate.says}; besides, {factor}", candidate.at
    return None


def _times(pairs: Sequence[Pair], candidate: Candidate) -> list[tuple[Trial, float]]:
    """The factor between the answer and what a mistake gives, in each trial; empty where it is no single number."""
    known = []
    for trial, array in pairs:
        try:
            computed = candidate.compute(trial)
        except IMPOSSIBLE:
            return []
        factor = one_ratio(array, computed)
        if factor is None:
            return []
        known.append((trial, factor))
    told = sum(np.count_nonzero(array) > ENTRIES_THAT_TELL for _, array in pairs)
    return known if told > 1 else []


def by_upstream(answer: Answer, pairs: Sequence[Pair]) -> Found | None:
    """What the answer makes of the upstream gradient, seen where only that has changed."""
    for (trial, array), (other, changed) in itertools.combinations(pairs, 2):
        if trial.inputs is not other.inputs or trial.out_g is other.out_g or trial.out_g is None or other.out_g is None:
            continue
        rights = right_in(answer, trial), right_in(answer, other)
        if array.shape != rights[0].shape or not bool(_off(array, rights[0]).any()) or not np.any(array):
            continue
        if not bool(_off(changed, array).any()):
            return "missing-upstream", "it stays the same when another out.g arrives: out.g is not in it"
        upstream = np.asarray(trial.out_g), np.asarray(other.out_g)
        if _entry_by_entry(array, changed, *upstream[::-1]) and _entry_by_entry(*rights, *upstream):
            return "not-linear", "out.g is below the line: the larger it is, the smaller the answer"
        if not _entry_by_entry(array, changed, *upstream) or one_ratio(array, rights[0]) is not None:
            continue
        if _entry_by_entry(*rights, *upstream):
            return "wrong-local", _slopes(answer, trial, array, rights[0], upstream[0])
        return "diagonal-only", "each entry uses only its own entry of out.g, but it moves other outputs as well"
    return None


def _entry_by_entry(array: np.ndarray, changed: np.ndarray, g: np.ndarray, other: np.ndarray) -> bool:
    """Each entry is its own upstream gradient, times something that does not depend on any."""
    return array.shape == g.shape == changed.shape and not bool(_off(array * other, changed * g).any())


def _slopes(answer: Answer, trial: Trial, array: np.ndarray, right: np.ndarray, g: np.ndarray) -> str:
    """The entry that is furthest off, with the local derivative that was used there and the right one."""
    place = tuple(int(i) for i in np.unravel_index(int(np.abs(array - right).argmax()), right.shape))
    used, slope = (float(values[place] / g[place]) for values in (array, right))
    return f"out.g is in it, but the slope at {_entry(answer, trial, place)} is {slope:.3g}, not {used:.3g}"


def _off(array: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays differ by more than rounding."""
    off: np.ndarray = np.abs(array - other) > MATCH * np.abs(other).max(initial=0.0)
    return off
