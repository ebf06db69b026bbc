"""Slips in a matrix product: which partner, which transpose, which sum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from grader.reference.trace import Position, Rule, Step
from grader.reference.trial import Vague
from grader.shapes import Sizes

from .fault import Fault, Make, with_operand
from .summing_faults import Sum, subsets

NEARLY_SINGULAR = 100.0

RESHAPED: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda q: q.mT.reshape(q.shape),
    lambda q: q.reshape(q.mT.shape).mT,
    lambda q: q.reshape(q.shape[-1], *q.shape[:-1]).movedim(0, -1),
)

# Rows of several axes made rows of one, the second axis first; and the same done to the other factor.
RECOUNTED: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda q: q.transpose(0, 1).reshape(q.shape),
    lambda q: q.reshape(q.shape[1], q.shape[0], *q.shape[2:]).transpose(0, 1),
)


def contraction_faults(step: Step, position: Position, sizes: Sizes, fault: Make) -> Iterator[Fault]:
    """Slips in the gradient of a matrix product with respect to the operand at `position`."""
    product = Contraction.of(step, position)
    shape = [product.size(step, letter) for letter in product.letters]
    summed = tuple(i for i, letter in enumerate(product.letters) if letter not in product.own)
    if not summed:
        return
    total = Sum(product.products, shape, summed, sizes)
    over_batch = product.letters[summed[0]] == product.value[0] and len(product.value) > 1
    not_summed = "missing-batch-sum" if over_batch else "elementwise-for-matmul"
    says = total.left_over(summed, "the products were")
    for order in itertools.permutations(range(len(shape))):
        yield fault(not_summed, says, product.unsummed(order))
    yield from total.faults(fault)
    for axes in subsets(summed):
        says = f"both factors are summed over {total.name(axes)} first and multiplied afterwards"
        letters = "".join(product.letters[axis] for axis in axes)
        yield fault("sum-of-products", says, product.summed_first(letters))
        says = f"both factors are brought down over {total.name(axes)} first, one of them by its mean, then multiplied"
        once = _averaged(product.summed_first(letters), product, letters)
        yield fault("sum-of-products", says, once)
        says = f"both factors are averaged over {total.name(axes)} first and multiplied afterwards"
        yield fault("sum-of-products", says, _averaged(once, product, letters))
    for reshape in RESHAPED:
        says = "a factor is reshaped where it must be transposed"
        yield fault("reshape-for-transpose", says, with_operand(position, product.partner, reshape))
    if step.operand(product.partner).dim() > 2:
        says = (
            "the rows of one factor are counted in another order than those of the other: they do not belong together"
        )
        for recount in RECOUNTED:
            yield fault("reshape-for-transpose", says, with_operand(position, product.partner, recount))
        for which, at in (("first", slice(0, 1)), ("last", slice(-1, None))):
            says = f"the {which} example's factor is used for all the examples"
            yield fault("partial-batch", says, with_operand(position, product.partner, partial(_of_one, at)))
    says = "an inverse stands where a transpose belongs"
    yield fault("inverse-for-transpose", says, with_operand(position, product.partner, _pinv))


def _averaged(rule: Rule, product: Contraction, letters: str) -> Rule:
    """What a rule gives, divided by the sizes of these axes."""
    return lambda trace, step, g: rule(trace, step, g) / math.prod(product.size(step, letter) for letter in letters)


def _of_one(at: slice, q: torch.Tensor) -> torch.Tensor:
    return q[at].expand(q.shape)


def _pinv(q: torch.Tensor) -> torch.Tensor:
    """The transposed inverse. Learners have it in float32, where a nearly singular matrix has none to speak of."""
    if torch.linalg.cond(q).max() > NEARLY_SINGULAR:
        raise Vague("the matrix is nearly singular")
    inverse: torch.Tensor = torch.linalg.pinv(q)
    return inverse.mT


@dataclass(frozen=True)
class Contraction:
    """The gradient of a matrix product with respect to one operand, as an einsum.

    Args:
        own: the operand's axes as letters.
        other: its partner's.
        value: the product's.
        partner: where the partner stands.
    """

    own: str
    other: str
    value: str
    partner: Position

    @classmethod
    def of(cls, step: Step, position: Position) -> Contraction:
        left, right = (step.operand((i,)).dim() for i in (0, 1))
        batch = "xyz"[: max(left, right, 2) - 2]
        a = batch[len(batch) - max(left - 2, 0) :] + ("ik" if left > 1 else "k")
        b = batch[len(batch) - max(right - 2, 0) :] + ("kj" if right > 1 else "k")
        value = batch + ("i" if left > 1 else "") + ("j" if right > 1 else "")
        return cls(a, b, value, (1,)) if position == (0,) else cls(b, a, value, (0,))

    @property
    def letters(self) -> str:
        """Every axis of the products before any is summed."""
        return "".join(letter for letter in "xyzikj" if letter in self.own + self.other + self.value)

    def size(self, step: Step, letter: str) -> int:
        """The size of an axis."""
        tensor, letters = (step.value, self.value) if letter in self.value else (step.operand(self.partner), self.other)
        return tensor.shape[letters.index(letter)]

    def products(self, step: Step, g: torch.Tensor) -> torch.Tensor:
        """Partner times upstream, nothing summed; axes: `letters`."""
        return torch.einsum(f"{self.value},{self.other}->{self.letters}", g, step.operand(self.partner))

    def unsummed(self, order: tuple[int, ...]) -> Rule:
        """The products with their axes in this order."""
        return lambda trace, step, g: self.products(step, g).permute(order)

    def summed_first(self, early: str) -> Rule:
        """Each factor summed on its own over the axes `early`, then the product; axes: `own`."""
        kept = ["".join(letter for letter in letters if letter not in early) for letters in (self.value, self.other)]

        def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
            left = torch.einsum(f"{self.value}->{kept[0]}", g)
            right = torch.einsum(f"{self.other}->{kept[1]}", step.operand(self.partner))
            return torch.einsum(f"{kept[0]},{kept[1]}->{self.own}", left, right)

        return rule
