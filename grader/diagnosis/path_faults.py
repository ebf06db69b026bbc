"""A slip on one of several paths: a factor that all of them share is left out on one and kept on the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from grader.reference.trace import Position, Step, Trace, Wrong

from .detours import used_often
from .fault import RESHAPES, Fault, words
from .faults import local_faults

Use = tuple[int, Position]


@dataclass(frozen=True)
class OnePath:
    """The gradient with one fault on one path only.

    Args:
        fault: what is left out.
        wrt: what is differentiated.
        path: the use that the path goes through.
        others: the other uses of the same value.
    """

    fault: Fault
    wrt: str
    path: Use
    others: frozenset[Use]

    def __call__(self, trace: Trace) -> torch.Tensor:
        wrong = (Wrong(self.fault.step, self.fault.position, self.fault.rule),)
        return trace.backward(self.wrt, wrong, skip=self.others) + trace.backward(self.wrt, skip=frozenset([self.path]))

    def says(self, trace: Trace) -> str:
        """A clause about the answer."""
        return f"on the path through {words(trace.steps[self.path[0]])} {self.fault.says}"


def one_path_faults(trace: Trace, wrt: str) -> Iterator[OnePath]:
    """A derivative left out on one path, of an operation that comes after the paths have met again."""
    for key, uses in used_often(trace, wrt):
        reached = [trace.depends(trace.steps[step].key) for step, _ in uses]
        for step in trace.steps:
            if sum(step.key in found for found in reached) < 2 or step.name in RESHAPES:
                continue
            for position, source in step.operands:
                if source in trace.depends(key):
                    for fault in drops(trace, step, position):
                        yield from (OnePath(fault, wrt, use, frozenset(uses) - {use}) for use in uses)


def drops(trace: Trace, step: Step, position: Position) -> list[Fault]:
    """The first two ways to leave this step's derivative out."""
    key = (step.index, position)
    if key not in trace.memo:
        faults = local_faults(trace, step, position, {})
        trace.memo[key] = [fault for fault in faults if fault.code in {"missing-local", "sum-for-mean"}][:2]
    found: list[Fault] = trace.memo[key]
    return found
