"""Answers that are partly right: one path off by a factor, another mask, entries where nothing should be."""

from __future__ import annotations

import itertools
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


def rows_of_a_path(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate]) -> Found | None:
    """One path counts for some rows of the variable only, and the others are right."""
    for candidate in candidates:
        rows = [_rows(answer, pair, candidate) for pair in pairs] if candidate.lacks else []
        told = [counted for counted in rows if counted is not None and not counted.all()]
        if told and all(counted is not None for counted in rows) and any(counted.any() for counted in told):
            return "partial-batch", f"{candidate.lacks} does not count for {_numbered(np.flatnonzero(~told[0]))}"
    return None


def replaced_by_a_path(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate]) -> Found | None:
    """Where one path arrives it replaces what the others have brought, as an assignment does."""
    for candidate in candidates:
        told = [_replaced(answer, pair, candidate) for pair in pairs] if candidate.lacks else []
        if any(told) and all(one is not None for one in told):
            return "overwritten", f"where {candidate.lacks} arrives, it replaces what is there already; they must add"
    return None


def _replaced(answer: Answer, pair: Pair, candidate: Candidate) -> bool | None:
    """The path that `candidate` leaves out replaces the rest where it is not 0, which can be told; `None` if not so."""
    array, right, rest = pair[1], right_in(answer, pair[0]), _rest(answer, pair, candidate)
    if rest is None:
        return None
    arrives = _off(right, rest)
    if _off(array, np.where(arrives, right - rest, rest)).any():
        return None
    return bool((~arrives).any() and _off(array, right).any())


def _rest(answer: Answer, pair: Pair, candidate: Candidate) -> np.ndarray | None:
    """What a mistake gives where all shapes are the same: the right answer's, the learner's and its own."""
    trial, array = pair
    try:
        rest = candidate.compute(trial)
    except IMPOSSIBLE:
        return None
    return rest if array.shape == right_in(answer, trial).shape == rest.shape else None


def _rows(answer: Answer, pair: Pair, candidate: Candidate) -> np.ndarray | None:
    """For which rows the path counts that `candidate` leaves out; `None` if it does so in part."""
    array, right, rest = pair[1], right_in(answer, pair[0]), _rest(answer, pair, candidate)
    if rest is None or not right.ndim:
        return None
    axes = tuple(range(1, right.ndim))
    full, none = (~_off(array, other).any(axis=axes) for other in (right, rest))
    return np.asarray(full) if bool((full | none).all()) else None


def _numbered(rows: np.ndarray) -> str:
    numbers = [str(row) for row in rows]
    return f"row {numbers[0]}" if len(numbers) == 1 else f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


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
