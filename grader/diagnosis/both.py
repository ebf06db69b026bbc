"""Two things at once: the variable and its gradient, a mistake and a factor, the right answer and a mistake."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from grader.exercise import Answer
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial

from .ratios import decoded, one_ratio
from .relations import Pair, right_in

if TYPE_CHECKING:
    from grader.reference.trace import Place

LEAST_TOLD = 5  # how many entries must agree about a factor that one of them would have to be asked for
INSTEAD = re.compile(r"(.+) stands where (.+) belongs")
Found = tuple[str, str]
Placed = tuple[str, str, tuple["Place", ...]]


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
) -> Placed | None:  # fmt: skip
    """A mistake that has a name, times a factor that has one; the code and the place of the first, the clause."""
    for candidate in candidates:
        if candidate.code == "forward-value" or ";" in candidate.says:  # no gradient; two slips by itself
            continue
        known = _times(pairs, candidate)
        if (found := decoded(known, averages)) and found[0] != "hard-coded":
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
    told = sum(max(int(np.count_nonzero(array)) - 1, 0) for _, array in pairs)
    return known if told >= LEAST_TOLD else []


def mixed_in(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate]) -> Placed | None:
    """A multiple of another value is added to the one that belongs in its place, as by a step of training too early."""
    if any(array.shape != right_in(answer, trial).shape for trial, array in pairs):
        return None
    off = [(trial, array - right_in(answer, trial)) for trial, array in pairs]
    for candidate in candidates:
        named = INSTEAD.match(candidate.says) if candidate.code == "wrong-operand" else None
        if named is None or not (known := _times(off, candidate)):
            continue
        times = known[0][1]
        if all(math.isclose(other, times, rel_tol=1e-2) for _, other in known):
            value, place = named.groups()
            how = "added to" if times > 0 else "subtracted from"
            says = f"{abs(times):.3g} times {value} is {how} {place}, which alone belongs in its place"
            return candidate.code, says, candidate.at
    return None
