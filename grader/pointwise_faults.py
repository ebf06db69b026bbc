"""Slips in a pointwise operation: its derivative, the point it is taken at, and undoing a broadcast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch

from .fault import SUMS, Fault, Make, words
from .shapes import Sizes
from .summing_faults import Sum
from .trace import Position, Rule, Step, Trace

QUOTIENTS = {"div", "__rdiv__", "__rtruediv__", "reciprocal"}
FROM_THE_VALUE: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tanh": lambda y: 1 - y**2,
    "sigmoid": lambda y: y * (1 - y),
}
Scaled = Callable[[Callable[[torch.Tensor, Step], torch.Tensor]], Rule]


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
    derivative = local_derivative(step, position)
    what = words(step)

    def scaled(change: Callable[[torch.Tensor, Step], torch.Tensor]) -> Rule:
        def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            wrong = g * change(local_derivative(step, position), step)
            return unbroadcast(wrong, step.operand(position).shape)

        return rule

    if bool(((derivative == 0) | (derivative == 1)).all()) and not bool((derivative == 1).all()):
        yield fault("inverted-mask", f"the mask of {what} is the wrong way round", scaled(lambda d, s: 1 - d))
    if step.name != "mul" or len(step.operands) == 1:  # else the partner is left out, which is said by its name
        yield fault("missing-local", f"the derivative of {what} is left out", scaled(lambda d, s: torch.ones_like(d)))
    yield fault("extra-factor", f"the derivative of {what} is applied twice", scaled(lambda d, s: d * d))
    yield from _known_slips(step, position, fault, scaled)
    yield fault("wrong-local", f"the value of {what} stands where its derivative belongs", scaled(lambda d, s: s.value))
    yield fault(
        "wrong-local", f"it is divided by the derivative of {what} instead of multiplied", scaled(lambda d, s: 1 / d)
    )


def _known_slips(step: Step, position: Position, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    """Slips that belong to one function: a power's exponent, a quotient's square."""
    if step.name == "pow" and position == (0,) and not isinstance(step.args[1], torch.Tensor):
        yield from _power_slips(step, fault, scaled)
    if step.name in QUOTIENTS and position == ((1,) if step.name == "div" else (0,)):
        yield from _quotient_slips(position, fault, scaled)
    if step.name in SUMS and len(step.operands) == 2:
        (other,) = (where for where, _ in step.operands if where != position)
        yield fault(
            "wrong-local", f"{words(step)} is differentiated as if it were a product", _times_other(position, other)
        )
    if step.name == "exp":
        says = "exp is no power: x * exp(x - 1) is not its derivative"
        yield fault("wrong-local", says, scaled(lambda d, s: s.operand(position) * (s.operand(position) - 1).exp()))
        says = "the derivative of exp(x) has no factor x"
        yield fault("wrong-local", says, scaled(lambda d, s: d * s.operand(position)))
    if step.name in FROM_THE_VALUE:
        says = f"the derivative of {words(step)} is written for its value, but taken at what went into it"
        yield fault("wrong-point", says, scaled(lambda d, s: FROM_THE_VALUE[s.name](s.operand(position))))
    if step.name == "log":
        says = "exp undoes the logarithm; its derivative is something else"
        yield fault("wrong-local", says, scaled(lambda d, s: s.operand(position).exp()))
        says = "1 / x**2 is not the derivative of the logarithm"
        yield fault("wrong-local", says, scaled(lambda d, s: d * d))


def _quotient_slips(position: Position, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    def below(change: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Rule:
        return scaled(lambda d, s: change(d, s.operand(position)))

    yield fault("wrong-local", "the denominator is not squared", below(lambda d, x: d * x))
    yield fault("wrong-local", "the denominator is cubed, not squared", below(lambda d, x: d / x))
    yield fault("wrong-local", "the sign is wrong and the denominator not squared", below(lambda d, x: -d * x))
    yield fault("missing-local", "the numerator is left out", below(lambda d, x: -1 / x**2))
    yield fault("wrong-local", "it is differentiated as if it were a product", _as_product(position))
    yield fault("wrong-local", "the logarithm is the antiderivative", below(lambda d, x: x.abs().log()))


def _as_product(position: Position) -> Rule:
    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        (other,) = [step.operand(where) for where, _ in step.operands if where != position] or [torch.ones_like(g)]
        return g * other

    return rule


def _times_other(position: Position, other: Position) -> Rule:
    return lambda trace, step, g: unbroadcast(g * step.operand(other), step.operand(position).shape)


def _power_slips(step: Step, fault: Make, scaled: Scaled) -> Iterator[Fault]:
    def power(change: Callable[[torch.Tensor, float], torch.Tensor]) -> Rule:
        return scaled(lambda d, s: change(s.operand((0,)), s.args[1]))

    k = f"{step.args[1]:g}"
    yield fault("missing-local", f"the {k} that the power brings down is left out", power(lambda x, n: x ** (n - 1)))
    says = f"only the {k} of the power is there, not what it multiplies"
    yield fault("missing-local", says, power(lambda x, n: n + 0 * x))
    yield fault("wrong-local", "the exponent is not lowered", power(lambda x, n: n * x**n))
    yield fault("wrong-local", "the exponent is raised instead of lowered", power(lambda x, n: n * x ** (n + 1)))
    yield fault("wrong-local", "the exponent is lowered twice", power(lambda x, n: n * x ** (n - 2)))
    yield fault("wrong-local", "the new exponent came down, not the old", power(lambda x, n: (n - 1) * x ** (n - 1)))
    says = f"the {k} that the power brings down is there twice"
    yield fault("extra-factor", says, power(lambda x, n: n * n * x ** (n - 1)))
    yield fault("wrong-local", "this belongs to the absolute value, not to a power", power(lambda x, n: x.sign()))
    yield fault("wrong-local", "this is the antiderivative", power(lambda x, n: x ** (n + 1) / (n + 1)))


def local_derivative(step: Step, position: Position, at: torch.Tensor | None = None) -> torch.Tensor:
    """d value / d operand of a pointwise operation, entry by entry; shape: that of the value."""
    operand = step.operand(position) if at is None else at
    wide = operand.expand(step.value.shape)
    return step.vjp(position, torch.ones_like(step.value), {position: wide})


def unbroadcast(g: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Sum `g` over the axes that broadcasting added to reach its shape from `shape`."""
    return g.sum_to_size(shape) if shape else g.sum()


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


def _mean(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    return unbroadcast(terms, shape) * shape.numel() / terms.numel()


def _one_place(place: int) -> Undo:
    """The terms at one place of the axes that should have been summed over."""

    def undo(terms: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        for axis in sum(_summed_axes(shape, terms.shape), ()):
            terms = terms.narrow(axis, place % terms.shape[axis], 1)
        return terms.reshape(shape)

    return undo


# Told in words that hold for whichever axes a trial broadcasts.
UNDONE: tuple[tuple[str, str, Undo], ...] = (
    ("missing-batch-sum", "it is not summed over the axes where broadcasting stretched a size of 1", _sum_in_front),
    ("missing-batch-sum", "it is not summed over the axes that broadcasting put in front", _sum_stretched),
    ("summed-wrong-axis", "the last axes are summed away, but broadcasting adds its axes in front", _sum_behind),
    ("mean-for-sum", "it is averaged over the axes that broadcasting added, where the sum belongs", _mean),
    ("partial-batch", "of the places where broadcasting has put an entry, only the first counted", _one_place(0)),
    ("partial-batch", "of the places where broadcasting has put an entry, only the last counted", _one_place(-1)),
)
