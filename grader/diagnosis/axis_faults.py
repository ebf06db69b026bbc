"""Slips in an operation along an axis: how much it hands to each entry, whom it picks, and which way it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from grader.reference.trace import Position, Rule, Step

from .fault import AVERAGES, Fault, Make, along, axis_of, words

PICKS = {"max", "min", "amax", "amin"}
Of = Callable[[Step, torch.Tensor], torch.Tensor]


def reduction_faults(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    """Slips in a sum or a mean: how much of the upstream gradient each entry gets."""
    what, n = words(step), _shared_by(step, position)
    average = step.name in AVERAGES
    if average:
        yield fault("sum-for-mean", f"the 1/{n} from {what} is left out", _times(position, lambda step, n: n))
        yield fault("extra-factor", f"the 1/{n} from {what} is applied twice", _times(position, lambda step, n: 1 / n))
    else:
        says = f"it is divided by {n}, but {what} does not average"
        yield fault("mean-for-sum", says, _times(position, lambda step, n: 1 / n))
    if axis_of(step) is not None:
        says = f"only the {{}} of the entries that {what} has reduced to one has a gradient"
        yield fault("partial-batch", says.format("first"), _at_one_place(position, 0))
        yield fault("partial-batch", says.format("last"), _at_one_place(position, -1))
    says = f"this is the gradient of a loss whose terms are squared before {what}"
    yield fault("wrong-local", says, lambda trace, step, g: step.vjp(position, g) * 2 * step.operand(position))
    says = f"this is the gradient of the root of {what}"
    yield fault("wrong-local", says, lambda trace, step, g: step.vjp(position, g / (2 * _root(step.value))))
    if step.value.numel() > 1:
        yield from _other_counts(step, position, average, fault)


def _root(value: torch.Tensor) -> torch.Tensor:
    if not bool((value > 0).all()):
        raise ValueError("there is no root of this value")
    return value.sqrt()


def _other_counts(step: Step, position: Position, average: bool, fault: Make) -> Iterator[Fault]:
    """Divided by another number of entries than the one that was reduced over."""
    what, n = words(step), _shared_by(step, position)
    code = "wrong-factor" if average else "mean-for-sum"
    instead = f"not by the {n} that {what} runs over" if average else f"but {what} does not average"
    counts: tuple[tuple[str, Callable[[Step], int]], ...] = (
        ("the number of all entries", lambda step: step.operand(position).numel()),
        ("the number of entries that are left", lambda step: step.value.numel()),
        ("the size of the first axis", lambda step: step.operand(position).shape[0]),
        ("the size of the last axis", lambda step: step.operand(position).shape[-1]),
    )
    for name, count in counts:
        says = f"it is divided by {name} ({count(step)} here), {instead}"
        yield fault(code, says, _divided(position, average, count))


def _shared_by(step: Step, position: Position) -> int:
    """How many entries were reduced to one."""
    return step.operand(position).numel() // max(step.value.numel(), 1)


def _times(position: Position, factor: Callable[[Step, int], float]) -> Rule:
    return lambda trace, step, g: step.vjp(position, g) * factor(step, _shared_by(step, position))


def _at_one_place(position: Position, place: int) -> Rule:
    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        gradient, alone = step.vjp(position, g), torch.zeros_like(step.operand(position))
        alone.select(_axis(step), place).copy_(gradient.select(_axis(step), place))
        return alone

    return rule


def _divided(position: Position, average: bool, count: Callable[[Step], int]) -> Rule:
    return _times(position, lambda step, n: (n if average else 1) / count(step))


def picking_faults(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    """Slips in a maximum or minimum along an axis: which entry gets the gradient."""
    what = words(step)

    def masked(mask: Of) -> Rule:
        return lambda trace, step, g: _spread(step, position, g) * mask(step, step.operand(position))

    says = f"every entry has a gradient, not only the one that {what} has picked"
    yield fault("missing-local", says, masked(lambda step, x: torch.ones_like(x)))
    says = f"the entries that {what} has picked have no gradient, and all the others have one"
    yield fault("inverted-mask", says, masked(lambda step, x: 1 - _picked(step, position)))
    n = _shared_by(step, position)
    says = f"every entry has 1/{n} of the gradient, as if {what} were a mean"
    yield fault("wrong-local", says, masked(lambda step, x: torch.full_like(x, 1 / _shared_by(step, position))))
    says = f"the values themselves stand where the mask of {what} belongs"
    yield fault("wrong-local", says, masked(lambda step, x: x))
    found, wanted = ("smallest", "largest") if "max" in step.name else ("largest", "smallest")
    says = f"the mask marks the {found} entries, where {what} has picked the {wanted}"
    yield fault("wrong-local", says, masked(partial(_picked_at_the_other_end, position)))
    for axis in range(step.operand(position).dim()):
        says = f"the mask marks what {what} would pick along axis {axis}, not along the axis it is given"
        yield fault("summed-wrong-axis", says, masked(partial(_picked_along, position, axis)))
    says = f"the mask marks what {what} would pick of all entries, not one along the axis"
    yield fault("summed-wrong-axis", says, masked(_extreme))


def _extreme(step: Step, x: torch.Tensor) -> torch.Tensor:
    """1 at the largest (or smallest) of all entries, 0 elsewhere; shape: that of `x`."""
    return (x == (x.max() if "max" in step.name else x.min())).to(x.dtype)


def _picked(step: Step, position: Position) -> torch.Tensor:
    """1 where an entry was picked, 0 elsewhere; shape: that of the operand."""
    return step.vjp(position, torch.ones_like(step.value))


def _picked_along(position: Position, axis: int, step: Step, _: torch.Tensor) -> torch.Tensor:
    return _picked(along(step, axis), position)


def _picked_at_the_other_end(position: Position, step: Step, x: torch.Tensor) -> torch.Tensor:
    return step.vjp(position, torch.ones_like(step.value), {position: -x})


def _spread(step: Step, position: Position, g: torch.Tensor) -> torch.Tensor:
    """The upstream gradient at every entry that took part; shape: that of the operand."""
    shape = step.operand(position).shape
    axis = axis_of(step)
    return (g if axis is None or g.dim() == len(shape) else g.unsqueeze(axis)).expand(shape)


def running_faults(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    """Slips in an operation that mixes the entries along an axis and keeps the shape, such as `cumsum`."""
    what = words(step)
    yield fault("missing-local", f"the gradient is passed on as if {what} had done nothing", lambda trace, step, g: g)
    says = f"{what} is applied to the gradient, as if it were the same going back"
    yield fault("wrong-local", says, lambda trace, step, g: step.apply({position: g}))
    says = f"the value of {what} stands where its derivative belongs"
    yield fault("wrong-local", says, lambda trace, step, g: g * step.value)
    says = f"each gradient is multiplied by what {what} would make of ones; it is other gradients that must come in"
    yield fault("wrong-local", says, lambda trace, step, g: g * step.vjp(position, torch.ones_like(g)))
    if axis_of(step) is not None:
        yield from _along_its_axis(step, position, fault)
    if step.name == "cumsum":
        says = f"the differences of neighbours undo {what}; a gradient takes the same ways back and adds"
        yield fault("inverse-for-transpose", says, _differences(backwards=False))
        yield fault("inverse-for-transpose", says, _differences(backwards=True))


def _along_its_axis(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    what = words(step)
    says = f"every entry follows only the output of {what} in its own place"
    yield fault("diagonal-only", says, lambda trace, step, g: g * _diagonal(step, position))
    says = f"the path through the output of {what} in its own place is missing"
    yield fault("missing-path", says, lambda trace, step, g: step.vjp(position, g) - g * _diagonal(step, position))
    says = f"these are the right numbers along the axis of {what}, back to front"
    yield fault("wrong-local", says, lambda trace, step, g: step.vjp(position, g).flip(_axis(step)))
    says = f"the upstream gradient was turned back to front along the axis of {what}"
    yield fault("wrong-local", says, lambda trace, step, g: step.vjp(position, g.flip(_axis(step))))
    says = f"every entry has the sum over the whole axis of {what}, the outputs it does not reach included"
    yield fault("wrong-local", says, lambda trace, step, g: g.sum(_axis(step), keepdim=True).expand_as(g))
    for axis in range(step.value.dim()):
        says = f"it runs along axis {axis}, not along the axis that {what} is given"
        yield fault("summed-wrong-axis", says, _run_along(position, axis))


def _differences(*, backwards: bool) -> Rule:
    """Each upstream gradient less that of its neighbour: the one before it, or the one behind."""

    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        axis = _axis(step)
        g = g.flip(axis) if backwards else g
        found = g.diff(dim=axis, prepend=torch.zeros_like(g.narrow(axis, 0, 1)))
        return found.flip(axis) if backwards else found

    return rule


def _run_along(position: Position, axis: int) -> Rule:
    return lambda trace, step, g: along(step, axis).vjp(position, g)


def _diagonal(step: Step, position: Position) -> torch.Tensor:
    """How each entry of the value reacts to the operand's entry in the same place; shape: that of both."""
    axis, diagonal = _axis(step), torch.zeros_like(step.value)
    for i in range(step.value.shape[axis]):
        here = torch.zeros_like(step.value)
        here.select(axis, i).fill_(1)
        diagonal += here * step.vjp(position, here)
    return diagonal


def _axis(step: Step) -> int:
    axis = axis_of(step)
    if axis is None:
        raise ValueError("the operation has no axis")
    return axis
