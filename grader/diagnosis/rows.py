"""Which rows counted: every other one, whole groups only, one of them twice, or each with a weight of its own.

A gradient is linear in what arrives at each row of the output, or at each term of the sum that a loss ends in. So
what it would be if some of these counted less, or more, is one reverse sweep with them weighed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import torch

from grader.reference.trace import Place, Trace
from grader.reference.trial import IMPOSSIBLE, Trial

from .mistake import Fact
from .operator import REDUCTIONS, End, Kind, Operator, Parameters, axis_names
from .right_answer import MATCH

Weights = Callable[[int], torch.Tensor]
Split = tuple[Place, int]  # where a gradient is split into rows, and along which of its axes
Traced = Callable[[Trial], Trace]
Pair = tuple[Trial, np.ndarray]

LARGEST = {(0, 1): 9, (0, 1, 2): 7}  # how many rows may have every combination of these counts tried
FEWEST, LEAST_TRIALS, SPARE = 4, 2, 2


def _only(rows: slice) -> Weights:
    def weights(count: int) -> torch.Tensor:
        found = torch.zeros(count, dtype=torch.float64)
        found[rows] = 1
        return found

    return weights


def _twice(row: int) -> Weights:
    def weights(count: int) -> torch.Tensor:
        found = torch.ones(count, dtype=torch.float64)
        found[row] += 1
        return found

    return weights


def _falling(count: int) -> torch.Tensor:
    return torch.arange(count, 0, -1, dtype=torch.float64)


PATTERNS: Mapping[str, tuple[str, Weights]] = {
    "all-but-first": ("partial-batch", _only(slice(1, None))),
    "all-but-last": ("partial-batch", _only(slice(0, -1))),
    "every-other": ("partial-batch", _only(slice(0, None, 2))),
    "every-other-not-first": ("partial-batch", _only(slice(1, None, 2))),
    "first-half": ("partial-batch", lambda count: _only(slice(0, count // 2))(count)),
    "second-half": ("partial-batch", lambda count: _only(slice(count // 2, None))(count)),
    "groups-of-2": ("partial-batch", lambda count: _only(slice(0, count // 2 * 2))(count)),
    "groups-of-3": ("partial-batch", lambda count: _only(slice(0, count // 3 * 3))(count)),
    "groups-of-4": ("partial-batch", lambda count: _only(slice(0, count // 4 * 4))(count)),
    "first-2": ("partial-batch", _only(slice(0, 2))),
    "first-3": ("partial-batch", _only(slice(0, 3))),
    "first-4": ("partial-batch", _only(slice(0, 4))),
    "first-twice": ("wrong-factor", _twice(0)),
    "last-twice": ("wrong-factor", _twice(-1)),
    "running-from-first": ("wrong-factor", _falling),
    "running-from-last": ("wrong-factor", lambda count: _falling(count).flip(0)),
}


def _weighed(trace: Trace, wrt: str, split: Split, weights: Weights) -> torch.Tensor:
    """The gradient in which the rows of the split one are multiplied by their weights."""
    (index, where), axis = split

    def weigh(g: torch.Tensor) -> torch.Tensor:
        return g * weights(g.shape[axis]).view([-1 if i == axis else 1 for i in range(g.dim())])

    rules = {(index, where): lambda trace, step, g: weigh(g) if where is None else weigh(step.vjp(where, g))}
    return trace.backward(wrt, rules)


def _in_pattern(trace: Trace, wrt: str, split: Split, pattern: str) -> torch.Tensor:
    return _weighed(trace, wrt, split, PATTERNS[pattern][1])


ROWS = {
    code: Operator("rows-in-pattern", code, _in_pattern, kind=Kind.SWEEP) for code in ("partial-batch", "wrong-factor")
}


def row_choices(trace: Trace, wrt: str) -> Iterator[tuple[Operator, Parameters, Parameters]]:
    """Every pattern in which rows may count, along every axis: operator, parameters, what is told."""
    for split in _splits(trace, wrt):
        for pattern, (code, _) in PATTERNS.items():
            told = {"pattern": pattern, "axes": _axes(trace, split)}
            yield ROWS[code], {"split": split, "pattern": pattern}, told


def _splits(trace: Trace, wrt: str) -> Iterator[Split]:
    """The upstream gradient along each of its axes; without one, what the last reduction to one number takes."""
    for step in reversed(trace.steps):
        if step.key == trace.out and trace.upstream_name:
            yield from (((step.index, None), axis) for axis in range(step.value.dim()))
            return
        if step.name in REDUCTIONS and not step.value.dim() and step.key in trace.depends(wrt):
            ((where, _), *_) = step.operands
            yield from (((step.index, where), axis) for axis in range(step.operand(where).dim()))
            return


def _split_array(trace: Trace, split: Split) -> torch.Tensor:
    (index, where), _ = split
    step = trace.steps[index]
    return step.value if where is None else step.operand(where)


def _axes(trace: Trace, split: Split) -> list[list[object]]:
    return axis_names([_split_array(trace, split).shape[split[1]]], trace.sizes)


def counted(end: End, traced: Traced, pairs: Sequence[Pair]) -> tuple[str, Fact] | None:
    """Code and fact where some rows count and others do not, or otherwise, in no pattern with a name."""
    wrt = end.answer.wrt
    for split in _splits(traced(pairs[0][0]), wrt):
        told = [pair for pair in pairs if _is_told(end, traced, split, pair)]
        for way in (_in_counts, _in_weights):
            if found := way(wrt, traced, split, [(trial, _new(end, trial, array)) for trial, array in told]):
                return found
    return None


def _parts(wrt: str, traced: Traced, split: Split, trial: Trial) -> np.ndarray:
    """What each row alone contributes; shape: (rows, entries of the answer)."""
    trace = traced(trial)

    def compute() -> np.ndarray:
        count = _split_array(trace, split).shape[split[1]]
        alone = [_weighed(trace, wrt, split, _only(slice(i, i + 1))) for i in range(count)]
        return torch.stack([one.flatten() for one in alone]).numpy()

    found: np.ndarray = trial.remember(("rows", wrt, split), compute)
    return found


def _is_told(end: End, traced: Traced, split: Split, pair: Pair) -> bool:
    """A trial that is not too large, with an array of the right shape."""
    trial, array = pair
    try:
        rows = _split_array(traced(trial), split).shape[split[1]]
    except IMPOSSIBLE:
        return False
    return array.shape == End(end.answer, trial).right.shape and rows <= max(LARGEST.values())


def _new(end: End, trial: Trial, array: np.ndarray) -> np.ndarray:
    """The learner's array, flat, without what was stored before."""
    prior = End(end.answer, trial).prior
    return (array if prior is None else array - prior).flatten()


def _in_counts(wrt: str, traced: Traced, split: Split, pairs: Sequence[Pair]) -> tuple[str, Fact] | None:
    """Each row counts or not, or up to twice."""
    for counts, largest in LARGEST.items():
        found = [_counts(_parts(wrt, traced, split, trial), array, counts, largest) for trial, array in pairs]
        if not found or any(one is None for one in found):
            continue
        uneven = [(pair, c) for pair, c in zip(pairs, found, strict=True) if c is not None and min(c) != max(c)]
        if sum(array.size for (_, array), _ in uneven) >= FEWEST and len(uneven) >= LEAST_TRIALS:
            (trial, _), told = uneven[0]
            numbers = {n: [i for i, c in enumerate(told) if c == n] for n in (0, 1, 2)}
            code = "wrong-factor" if numbers[2] else "partial-batch"
            facts = {"axes": _axes(traced(trial), split), "once": numbers[1], "twice": numbers[2], "never": numbers[0]}
            return code, Fact("rows-twice" if numbers[2] else "rows-once", facts)
    return None


def _counts(parts: np.ndarray, array: np.ndarray, counts: tuple[int, ...], largest: int) -> tuple[int, ...] | None:
    """How often each row counts in one trial; `None` if no combination gives the learner's numbers."""
    if len(parts) > largest:
        return None
    ways = _ways(counts, len(parts))
    fits = np.abs(ways @ parts - array).max(axis=1) <= MATCH * np.abs(parts).max()
    return tuple(int(n) for n in ways[fits.argmax()]) if fits.any() else None


@cache
def _ways(counts: tuple[int, ...], rows: int) -> np.ndarray:
    """Every combination of counts for so many rows, those with the most ones first; shape: (combinations, rows)."""
    return np.array(sorted(itertools.product(counts, repeat=rows), key=lambda way: sum(abs(n - 1) for n in way)))


def _in_weights(wrt: str, traced: Traced, split: Split, pairs: Sequence[Pair]) -> tuple[str, Fact] | None:
    """Each row has a weight of its own, where the answer has entries enough to tell."""
    several = [
        (trial, array)
        for trial, array in pairs
        if 1 < _split_array(traced(trial), split).shape[split[1]] <= array.size - SPARE
    ]
    if len(several) < LEAST_TRIALS:
        return None
    parts = [_parts(wrt, traced, split, trial) for trial, _ in several]
    if any(((np.abs(part) > 0).sum(axis=0) <= 1).all() for part in parts):
        return None  # each row has entries of its own: what is off is no sum over rows
    found = [_weights(part, array) for part, (_, array) in zip(parts, several, strict=True)]
    if any(weights is None for weights in found) or found[0] is None:
        return None
    (trial, _), weights = several[0], found[0]
    facts = {"axes": _axes(traced(trial), split), "first": float(weights[0]), "last": float(weights[-1])}
    return "wrong-factor", Fact("rows-weighed", facts)


def _weights(parts: np.ndarray, array: np.ndarray) -> np.ndarray | None:
    """The weights with which the parts give the array, if there are any; not all of them alike."""
    weights, _, rank, _ = np.linalg.lstsq(parts.T, array, rcond=1e-6)
    off = np.abs(weights @ parts - array).max()
    uneven = np.ptp(weights) > MATCH * np.abs(weights).max()
    return weights if rank == len(parts) and off <= MATCH * np.abs(array).max() and uneven else None
