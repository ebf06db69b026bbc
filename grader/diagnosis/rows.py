"""Which rows counted: every other one, whole groups only, one of them twice, or each with a weight of its own.

A gradient is linear in what arrives at each row of the output, or at each term of the sum that a loss ends in. So
what it would be if some of these counted less, or more, is one reverse sweep with them weighed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch

from grader.exercise import Answer, Exercise
from grader.reference.trace import Place, Rule, Step, Trace, Wrong
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial
from grader.shapes import name_axes

from .detours import Sweep
from .fault import REDUCTIONS
from .graph_faults import candidate, faithful, trace_of
from .relations import MATCH, Pair, right_in

Weights = Callable[[int], torch.Tensor]
Split = tuple[Place, int]  # where a gradient is split into rows, and along which of its axes
Found = tuple[str, str]

LARGEST = {(0, 1): 9, (0, 1, 2): 7}  # how many rows may have every combination of these counts tried
FEWEST, LEAST_TRIALS, SPARE = 4, 2, 2
HINTS = ("How often does each of them count in the forward pass, and how often in your sum?",)


def _only(rows: slice) -> Weights:
    def weights(count: int) -> torch.Tensor:
        found = torch.zeros(count, dtype=torch.float64)
        found[rows] = 1
        return found

    return weights


def _whole_groups(size: int) -> Weights:
    return lambda count: _only(slice(0, count // size * size))(count)


def _half(*, second: bool) -> Weights:
    return lambda count: _only(slice(count // 2, None) if second else slice(0, count // 2))(count)


def _twice(row: int) -> Weights:
    def weights(count: int) -> torch.Tensor:
        found = torch.ones(count, dtype=torch.float64)
        found[row] += 1
        return found

    return weights


def _falling(count: int) -> torch.Tensor:
    return torch.arange(count, 0, -1, dtype=torch.float64)


PATTERNS: tuple[tuple[str, str, Weights], ...] = (
    ("partial-batch", "the first of {} was not counted", _only(slice(1, None))),
    ("partial-batch", "the last of {} was not counted", _only(slice(0, -1))),
    ("partial-batch", "of {}, only every other one counted", _only(slice(0, None, 2))),
    ("partial-batch", "of {}, only every other one counted, not the first", _only(slice(1, None, 2))),
    ("partial-batch", "of {}, only the first half counted", _half(second=False)),
    ("partial-batch", "of {}, only the second half counted", _half(second=True)),
    *(
        ("partial-batch", f"of {{}}, only whole groups of {n} counted: the rest at the end is left out",
         _whole_groups(n))
        for n in (2, 3, 4)
    ),
    *(("partial-batch", f"of {{}}, only the first {n} counted", _only(slice(0, n))) for n in (2, 3, 4)),
    ("wrong-factor", "the first of {} counts twice", _twice(0)),
    ("wrong-factor", "the last of {} counts twice", _twice(-1)),
    ("wrong-factor", "sums that were still running were added up: of {}, the first counts most often", _falling),
    ("wrong-factor", "sums that were still running were added up: of {}, the last counts most often",
     lambda count: _falling(count).flip(0)),
)  # fmt: skip


def candidates(exercise: Exercise, answer: Answer, trial: Trial) -> Iterator[Candidate]:
    """Every pattern in which rows may count, along every axis.

    Args:
        trial: the first trial.
    """
    if answer.kind != "gradient" or not faithful(exercise, answer, trial):
        return
    trace = trace_of(exercise, trial)
    for split in _splits(exercise, answer, trace):
        for code, says, weights in PATTERNS:
            sweep = _weighed(answer.wrt, split, weights)
            found = candidate(exercise, answer, trace, code, says.format(_name(trace, trial, split)), sweep)
            yield replace(found, hints=HINTS)


def counted(exercise: Exercise, answer: Answer, pairs: Sequence[Pair]) -> tuple[str, str, tuple[str, ...]] | None:
    """Code, clause and hints where some rows count and others do not, or otherwise, in no pattern with a name."""
    first = pairs[0][0]
    if answer.kind != "gradient" or not faithful(exercise, answer, first):
        return None
    for split in _splits(exercise, answer, trace_of(exercise, first)):
        told = [pair for pair in pairs if _is_told(exercise, answer, split, pair)]
        for says in (_in_counts, _in_weights):
            if found := says(exercise, answer, split, told):
                return *found, HINTS
    return None


def _splits(exercise: Exercise, answer: Answer, trace: Trace) -> Iterator[Split]:
    """The upstream gradient along each of its axes; without one, what the last reduction to one number takes."""
    for step in reversed(trace.steps):
        if step.key == trace.out and exercise.gives_upstream:
            yield from (((step.index, None), axis) for axis in range(step.value.dim()))
            return
        if step.name in REDUCTIONS and not step.value.dim() and step.key in trace.depends(answer.wrt):
            ((where, _), *_) = step.operands
            yield from (((step.index, where), axis) for axis in range(step.operand(where).dim()))
            return


def _split_array(trace: Trace, split: Split) -> torch.Tensor:
    (index, where), _ = split
    step = trace.steps[index]
    return step.value if where is None else step.operand(where)


def _name(trace: Trace, trial: Trial, split: Split) -> str:
    return name_axes([_split_array(trace, split).shape[split[1]]], trial.setting.sizes)


def _weighed(wrt: str, split: Split, weights: Weights) -> Sweep:
    """The sweep in which the rows of the split gradient are multiplied by their weights."""
    (index, where), axis = split

    def weigh(g: torch.Tensor) -> torch.Tensor:
        shape = [-1 if i == axis else 1 for i in range(g.dim())]
        return g * weights(g.shape[axis]).view(shape)

    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        return weigh(g) if where is None else weigh(step.vjp(where, g))

    rules: Rule = rule
    return partial(Trace.backward, wrt=wrt, wrong=(Wrong(index, where, rules),))


def _parts(exercise: Exercise, answer: Answer, split: Split, trial: Trial) -> np.ndarray:
    """What each row alone contributes; shape: (rows, entries of the answer)."""
    trace = trace_of(exercise, trial)
    count = _split_array(trace, split).shape[split[1]]
    alone = [_weighed(answer.wrt, split, _only(slice(i, i + 1))) for i in range(count)]
    found: np.ndarray = trial.remember(
        ("rows", answer.name, split), lambda: torch.stack([sweep(trace).flatten() for sweep in alone]).numpy()
    )
    return found


def _is_told(exercise: Exercise, answer: Answer, split: Split, pair: Pair) -> bool:
    """A trial that is not too large, with an array of the right shape."""
    trial, array = pair
    try:
        rows = _split_array(trace_of(exercise, trial), split).shape[split[1]]
    except IMPOSSIBLE:
        return False
    return array.shape == right_in(answer, trial).shape and rows <= max(LARGEST.values())


def _new(answer: Answer, pair: Pair) -> np.ndarray:
    """The learner's array, flat, without what was stored before."""
    trial, array = pair
    prior = trial.arguments[answer.wrt].g if answer.stored else None
    return (array if prior is None else array - prior).flatten()


def _in_counts(exercise: Exercise, answer: Answer, split: Split, pairs: Sequence[Pair]) -> Found | None:
    """Each row counts or not, or up to twice."""
    for counts, largest in LARGEST.items():
        found = [_counts(exercise, answer, split, pair, counts, largest) for pair in pairs]
        if not found or any(one is None for one in found):
            continue
        uneven = [(pair, c) for pair, c in zip(pairs, found, strict=True) if c is not None and min(c) != max(c)]
        if sum(array.size for (_, array), _ in uneven) >= FEWEST and len(uneven) >= LEAST_TRIALS:
            (trial, _), told = uneven[0]
            return _told(_name(trace_of(exercise, trial), trial, split), told)
    return None


def _counts(
    exercise: Exercise, answer: Answer, split: Split, pair: Pair, counts: tuple[int, ...], largest: int
) -> tuple[int, ...] | None:
    """How often each row counts in one trial; `None` if no combination gives the learner's numbers."""
    parts, array = _parts(exercise, answer, split, pair[0]), _new(answer, pair)
    if len(parts) > largest:
        return None
    ways = _ways(counts, len(parts))
    fits = np.abs(ways @ parts - array).max(axis=1) <= MATCH * np.abs(parts).max()
    return tuple(int(n) for n in ways[fits.argmax()]) if fits.any() else None


@cache
def _ways(counts: tuple[int, ...], rows: int) -> np.ndarray:
    """Every combination of counts for so many rows, those with the most ones first; shape: (combinations, rows)."""
    return np.array(sorted(itertools.product(counts, repeat=rows), key=lambda way: sum(abs(n - 1) for n in way)))


def _told(name: str, counts: Sequence[int]) -> Found:
    numbers = {n: [str(i) for i, c in enumerate(counts) if c == n] for n in (0, 1, 2)}
    if numbers[2]:
        return "wrong-factor", f"of {name}, {_those(numbers[2])} counts twice{_none_of(numbers[0])}"
    return "partial-batch", f"of {name}, only {_those(numbers[1])} counted"


def _those(rows: Sequence[str]) -> str:
    return f"number {rows[0]}" if len(rows) == 1 else f"those numbered {', '.join(rows[:-1])} and {rows[-1]}"


def _none_of(rows: Sequence[str]) -> str:
    return f", and {_those(rows)} not at all" if rows else ""


def _in_weights(exercise: Exercise, answer: Answer, split: Split, pairs: Sequence[Pair]) -> Found | None:
    """Each row has a weight of its own, where the answer has entries enough to tell."""
    several = [
        (trial, array)
        for trial, array in pairs
        if 1 < _split_array(trace_of(exercise, trial), split).shape[split[1]] <= array.size - SPARE
    ]
    if len(several) < LEAST_TRIALS:
        return None
    found = [_weights(_parts(exercise, answer, split, pair[0]), _new(answer, pair)) for pair in several]
    if any(weights is None for weights in found) or found[0] is None:
        return None
    (trial, _), weights = several[0], found[0]
    most = f"the first {weights[0]:.3g} times, the last {weights[-1]:.3g} times"
    return "wrong-factor", f"of {_name(trace_of(exercise, trial), trial, split)}, not all count alike: {most}"


def _weights(parts: np.ndarray, array: np.ndarray) -> np.ndarray | None:
    """The weights with which the parts give the array, if there are any; not all of them alike."""
    weights, _, rank, _ = np.linalg.lstsq(parts.T, array, rcond=1e-6)
    off = np.abs(weights @ parts - array).max()
    uneven = np.ptp(weights) > MATCH * np.abs(weights).max()
    return weights if rank == len(parts) and off <= MATCH * np.abs(array).max() and uneven else None
