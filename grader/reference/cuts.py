"""What is cut out of a value: its parts, and the slices of it, each with the place that it begins at."""

from __future__ import annotations

from dataclasses import replace

from .operand_view import At
from .trace import Step, Trace

PARTS = {"chunk", "split", "tensor_split", "unbind", "unsafe_chunk"}
CUTS = {"__getitem__", "narrow", "select", *PARTS}


def siblings(trace: Trace, step: Step) -> list[Step]:
    """All that is cut out of the same value in the same way, this one among it."""
    same = (other for other in trace.steps if other.name == step.name and other.operands[:1] == step.operands[:1])
    return [other for other in same if len(other.operands) == 1]


def slice_of(step: Step) -> tuple[int, int, int]:
    """Of a step that takes one slice of an axis: the axis, where it begins, and its length; a ValueError where not."""
    index = step.args[1] if isinstance(step.args[1], tuple) else (step.args[1],)
    slices = [(i, one) for i, one in enumerate(index) if isinstance(one, slice) and one != slice(None)]
    if len(slices) != 1:
        raise ValueError("it is no slice of one axis")
    ((axis, found),) = slices
    if any(one is Ellipsis or one is None or isinstance(one, int) for one in index[:axis]):
        raise ValueError("the axis of the slice is not told by its place")
    begin, end, by = found.indices(step.args[0].shape[axis])
    if by != 1:
        raise ValueError("it is no window")
    return axis, begin, end - begin


def is_slice(at: At) -> bool:
    try:
        return at.name == "__getitem__" and not at.others and at.x.dim() > 0 and bool(slice_of(at.step))
    except (ValueError, TypeError):
        return False


def at_another_place(step: Step, begin: int) -> Step:
    axis, _, length = slice_of(step)
    if not 0 <= begin <= step.args[0].shape[axis] - length:
        raise ValueError("the slice does not fit there at these sizes")
    index = step.args[1] if isinstance(step.args[1], tuple) else (step.args[1],)
    return replace(step, args=(step.args[0], (*index[:axis], slice(begin, begin + length), *index[axis + 1 :])))
