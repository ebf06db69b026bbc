"""Ways round the plain reverse sweep: paths that may be left out, and a forward pass with one step taken otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from grader.reference.trace import Place, Position, Step, Trace

from .fault import REDUCTIONS, along, name_of, words

Sweep = Callable[[Trace], torch.Tensor]
Uses = frozenset[tuple[int, Position]]
MAX_PATHS = 4
NOTHING = 1e-9


def used_often(trace: Trace, wrt: str) -> Iterator[tuple[str, list[tuple[int, Position]]]]:
    """Every value on the way back to `wrt` that is used several times there, with its uses."""
    relevant = trace.depends(wrt)
    for key in sorted(relevant - {trace.out}):
        uses = [use for use in trace.uses(key) if trace.steps[use[0]].key in relevant]
        if 2 <= len(uses) <= MAX_PATHS:
            yield key, uses


def idle_paths(trace: Trace, wrt: str) -> Uses:
    """Uses that contribute nothing in total, as that of the mean in a variance: whoever knows it leaves them out."""
    right = trace.backward(wrt)
    bound = NOTHING * float(right.abs().max())
    idle: Uses = frozenset()
    for _, uses in used_often(trace, wrt):
        for use in uses:
            if float((trace.backward(wrt, skip=idle | {use}) - right).abs().max()) <= bound:
                idle |= {use}
    return idle


def reduced_elsewhere(trace: Trace, wrt: str, skip: Uses) -> Iterator[tuple[int, str, Sweep]]:
    """A sum or mean whose axis is kept, taken over other axes on the way forward; its step, a clause, the sweep."""
    for step in trace.steps:
        rank = step.value.dim()
        if step.name not in REDUCTIONS or not rank or rank != step.operand(step.operands[0][0]).dim():
            continue
        for axis in range(rank):
            says = f"{words(step)} is taken along axis {axis}, not along the axis it is given"
            yield step.index, says, _sweep(wrt, step.index, axis, skip)
        says = f"{words(step)} is taken over all entries, not along one axis"
        yield step.index, says, _sweep(wrt, step.index, None, skip)


def taken_of_another(trace: Trace, wrt: str) -> Iterator[tuple[Place, str, str, Sweep]]:
    """One operation on the way forward taken of another value, and its result used throughout.

    Yields:
        The place, the code, the clause and the sweep.
    """
    values = trace.values()
    for step in trace.steps:
        for where, source in step.operands if step.key != trace.out else ():
            for key in (*trace.inputs, trace.out):
                if key != source and values[key].shape == step.operand(where).shape:
                    code = "wrong-point" if len(step.operands) == 1 else "wrong-operand"
                    says = f"{words(step)} is taken of {name_of(trace, key)}, not of {name_of(trace, source)}"
                    yield (step.index, where), code, says, _taken_of(wrt, step.index, where, key)


def _taken_of(wrt: str, index: int, where: Position, key: str) -> Sweep:
    def sweep(trace: Trace) -> torch.Tensor:
        value = trace.values()[key]
        if value.shape != trace.steps[index].operand(where).shape:
            raise ValueError("the values have different shapes in this trial")
        return trace.with_step(index, lambda step: step.with_operands({where: value})).backward(wrt)

    return sweep


def _sweep(wrt: str, index: int, axis: int | None, skip: Uses) -> Sweep:
    def other(step: Step) -> Step:
        return along(step, tuple(range(step.value.dim())) if axis is None else axis)

    return lambda trace: trace.with_step(index, other).backward(wrt, skip=skip)
