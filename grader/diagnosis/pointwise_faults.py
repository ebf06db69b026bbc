"""Slips in a pointwise operation: its derivative, the point it is taken at, and undoing a broadcast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from grader.reference.trace import Position, Rule, Step, Trace
from grader.shapes import Sizes

from .fault import SUMS, Fault, Make, words
from .known_slips import known_slips
from .summing_faults import Sum, unbroadcast


def is_pointwise(step: Step, position: Position) -> bool:
    """The value has one entry for each entry of the (broadcast) operands, and depends on no other entry of this one."""
    shapes = [step.operand(where).shape for where, _ in step.operands]
    try:
        if tuple(np.broadcast_shapes(*shapes)) != tuple(step.value.shape):
            return False
    except ValueError:  # the operands do not broadcast, as in `cat`
        return False
    last = torch.zeros(step.value.shape, dtype=step.value.dtype)
    last.view(-1)[-1:] = 1
    wide = step.operand(position).expand(step.value.shape)
    return not bool(step.vjp(position, last, {position: wide}).nan_to_num().flatten()[:-1].any())


def pointwise_faults(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    probes = torch.linspace(-9, 9, max(step.value.numel(), 2), dtype=step.value.dtype)[: step.value.numel()]
    derivative = torch.stack(
        [local_derivative(step, position), local_derivative(step, position, probes.view(step.value.shape))]
    )
    what = words(step)

    def scaled(change: Callable[[torch.Tensor, Step], torch.Tensor]) -> Rule:
        def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            wrong = g * change(local_derivative(step, position), step)
            return unbroadcast(wrong, step.operand(position).shape)

        return rule

    if bool(((derivative == 0) | (derivative == 1)).all()) and not bool((derivative == 1).all()):
        yield fault("inverted-mask", f"the mask of {what} is the wrong way round", scaled(lambda d, s: 1 - d))
    if bool((derivative == -1).all()):
        yield fault("wrong-sign", f"the minus of {what} is left out", scaled(lambda d, s: torch.ones_like(d)))
    elif step.name != "mul" or len(step.operands) == 1:  # else the partner is left out, which is said by its name
        yield fault("missing-local", f"the derivative of {what} is left out", scaled(lambda d, s: torch.ones_like(d)))
    if not bool((derivative == -1).all()):
        yield fault("extra-factor", f"the derivative of {what} is applied twice", scaled(lambda d, s: d * d))
    yield from known_slips(step, position, fault, scaled)
    says = f"{what} is applied to the gradient, as if it were the same going back"
    yield fault("wrong-local", says, lambda trace, step, g: unbroadcast(step.apply({position: g}), g.shape))
    yield fault("wrong-local", f"the value of {what} stands where its derivative belongs", scaled(lambda d, s: s.value))
    if step.name not in SUMS:
        says = f"the gradient and the derivative of {what} are added, where they must be multiplied"
        yield fault("wrong-local", says, _added(position))
    code = "wrong-factor" if bool((derivative == derivative.flatten()[0]).all()) else "wrong-local"
    says = f"it is divided by the derivative of {what} instead of multiplied"
    yield fault(code, says, scaled(lambda d, s: 1 / d))


def _added(position: Position) -> Rule:
    return lambda trace, step, g: unbroadcast(g + local_derivative(step, position), step.operand(position).shape)


def local_derivative(step: Step, position: Position, at: torch.Tensor | None = None) -> torch.Tensor:
    """d value / d operand of a pointwise operation, entry by entry; shape: that of the value."""
    operand = step.operand(position) if at is None else at
    wide = operand.expand(step.value.shape)
    return step.vjp(position, torch.ones_like(step.value), {position: wide})


def broadcasting_faults(step: Step, position: Position, sizes: Sizes, fault: Make) -> Iterator[Fault]:
    """Slips in undoing a broadcast: an operand used once per row, column, ..."""
    operand, value = step.operand(position), step.value
    if operand.shape == value.shape:
        return

    def terms(step: Step, g: torch.Tensor) -> torch.Tensor:
        return g * local_derivative(step, position)

    total = Sum(terms, value.shape, sum(_summed_axes(operand.shape, value.shape), ()), sizes)
    yield fault("missing-batch-sum", total.left_over(total.summed), lambda trace, step, g: terms(step, g))
    yield from total.faults(fault)
    for code, says, undo in UNDONE:
        yield fault(code, says, _undone(undo, position))
    if len(step.operands) > 1 and step.name not in SUMS:
        says = "both factors are summed first and multiplied afterwards"
        yield fault("sum-of-products", says, _summed_apart(position))


Undo = Callable[[torch.Tensor, torch.Size], torch.Tensor]


def _undone(undo: Undo, position: Position) -> Rule:
    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        return undo(g * local_derivative(step, position), step.operand(position).shape)

    return rule


def _summed_apart(position: Position) -> Rule:
    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        shape = step.operand(position).shape
        return unbroadcast(g, shape) * unbroadcast(local_derivative(step, position), shape)

    return rule


def _summed_axes(shape: Sequence[int], wide: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that broadcasting put in front, and those it stretched from size 1."""
    added = len(wide) - len(shape)
    stretched = [i + added for i, size in enumerate(shape) if size == 1 and wide[i + added] != 1]
    return tuple(range(added)), tuple(stretched)


def _sum_in_front(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    added, _ = _summed_axes(shape, terms.shape)
    return terms.sum(added) if added else terms


def _sum_stretched(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    _, stretched = _summed_axes(shape, terms.shape)
    return terms.sum(stretched, keepdim=True) if stretched else terms


def _sum_behind(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    while terms.dim() > len(shape):
        terms = terms.sum(-1)
    return _sum_stretched(terms, shape)


def _sum_of_all(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    return terms.sum().expand(shape)


def _cut_and_summed(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    return terms.reshape(-1, shape.numel()).sum(0).reshape(shape)


def _mean(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    return unbroadcast(terms, shape) * shape.numel() / terms.numel()


def _largest(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    for axis in sum(_summed_axes(shape, terms.shape), ()):
        terms = terms.amax(axis, keepdim=True)
    return terms.reshape(shape)


def _one_place(place: int) -> Undo:
    """The terms at one place of the axes that should have been summed over."""

    def undo(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        for axis in sum(_summed_axes(shape, terms.shape), ()):
            terms = terms.narrow(axis, place % terms.shape[axis], 1)
        return terms.reshape(shape)

    return undo


def _one_in_front(place: int) -> Undo:
    """The terms at one place of the axes in front, summed over the stretched ones."""

    def undo(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        added, _ = _summed_axes(shape, terms.shape)
        for _ in added:
            terms = terms[place]
        return unbroadcast(terms, shape)

    return undo


def _one_stretched(place: int) -> Undo:
    """The terms at one place of the stretched axes, summed over those in front."""

    def undo(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        for axis in _summed_axes(shape, terms.shape)[1]:
            terms = terms.narrow(axis, place % terms.shape[axis], 1)
        return unbroadcast(terms, shape)

    return undo


# Told in words that hold for whichever axes a trial broadcasts.
UNDONE: tuple[tuple[str, str, Undo], ...] = (
    ("missing-batch-sum", "it is not summed over the axes where broadcasting stretched a size of 1", _sum_in_front),
    ("missing-batch-sum", "it is not summed over the axes that broadcasting put in front", _sum_stretched),
    ("summed-wrong-axis", "the last axes are summed away, but broadcasting adds its axes in front", _sum_behind),
    ("summed-wrong-axis", "all of it is added up to one number, the axes that must be kept included", _sum_of_all),
    (
        "summed-wrong-axis",
        "it is cut into pieces of the right size and these are added: axes get mixed",
        _cut_and_summed,
    ),
    ("mean-for-sum", "it is averaged over the axes that broadcasting added, where the sum belongs", _mean),
    ("partial-batch", "of the places where broadcasting has put an entry, only the first counted", _one_place(0)),
    ("partial-batch", "of the places where broadcasting has put an entry, only the last counted", _one_place(-1)),
    ("partial-batch", "of the places where broadcasting has put an entry, only the largest counted", _largest),
    ("partial-batch", "of the axes that broadcasting put in front, only the first place counted", _one_in_front(0)),
    ("partial-batch", "of the axes that broadcasting put in front, only the last place counted", _one_in_front(-1)),
    ("partial-batch", "of the axes that were stretched from 1, only the first place counted", _one_stretched(0)),
    ("partial-batch", "of the axes that were stretched from 1, only the last place counted", _one_stretched(-1)),
)
