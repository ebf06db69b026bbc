"""Slips in sums of products: which partner, which transpose, which axes are summed over, and how much of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.reference.trace import Position
from grader.reference.trial import Vague
from grader.shapes import PARTS

from .operator import CONTRACTIONS, At, Operator, Parameters
from .pointwise import summed_axes

Axes = tuple[int, ...]
NEARLY_SINGULAR = 100.0


def subsets(axes: Axes) -> Iterator[Axes]:
    """Every non-empty subset, the largest first."""
    for count in range(len(axes), 0, -1):
        yield from itertools.combinations(axes, count)


@dataclass(frozen=True)
class Contraction:
    """The gradient of a sum of products with respect to one operand, as an einsum.

    Args:
        own: the operand's axes as letters.
        others: those of its partners.
        value: the product's.
        partners: where the partners stand.
    """

    own: str
    others: tuple[str, ...]
    value: str
    partners: tuple[Position, ...]

    @classmethod
    def of(cls, at: At) -> Contraction:
        """Read from the operation's name and the ranks of its operands.

        Raises:
            ValueError: it is no sum of products of two arrays.
        """
        if at.step.name == "einsum":
            *letters, value = _letters(at)
        elif at.step.name == "linear":
            batch = "xyzw"[: at.y.dim() - 1]
            letters, value = [batch + "k", "jk"], batch + "j"
        elif at.step.name == "outer":
            letters, value = ["i", "j"], "ij"
        else:
            *letters, value = _product_letters(at.step.operand((0,)).dim(), at.step.operand((1,)).dim())
        places = sorted(where for where, _ in at.step.operands)
        if len(places) != len(letters) or len(places) < 2:
            raise ValueError("it is no plain sum of products")
        known = dict(zip(places, letters, strict=True))
        own = known.pop(at.where)
        return cls(own, tuple(known.values()), value, tuple(known))

    @property
    def letters(self) -> str:
        """Every axis of the products before any is summed."""
        return "".join(dict.fromkeys("".join(sorted(self.own + "".join(self.others) + self.value, key=_order))))

    @property
    def summed(self) -> Axes:
        """The axes that are rightly summed over."""
        return tuple(i for i, letter in enumerate(self.letters) if letter not in self.own)

    def size(self, at: At, letter: str) -> int:
        """The size of an axis."""
        if letter in self.value:
            return at.y.shape[self.value.index(letter)]
        where, letters = next(pair for pair in zip(self.partners, self.others, strict=True) if letter in pair[1])
        return at.step.operand(where).shape[letters.index(letter)]

    def _factors(self, at: At) -> list[torch.Tensor]:
        return [at.g, *(at.step.operand(where) for where in self.partners)]

    def products(self, at: At) -> torch.Tensor:
        """Partners times upstream, nothing summed; axes: `letters`."""
        return torch.einsum(f"{','.join((self.value, *self.others))}->{self.letters}", *self._factors(at))

    def summed_first(self, at: At, early: str) -> torch.Tensor:
        """Each factor summed on its own over the axes `early`, then the product; axes: `own`."""
        full = (self.value, *self.others)
        kept = ["".join(letter for letter in letters if letter not in early) for letters in full]
        summed = [
            torch.einsum(f"{before}->{after}", factor)
            for before, after, factor in zip(full, kept, self._factors(at), strict=True)
        ]
        return torch.einsum(f"{','.join(kept)}->{self.own}", *summed)


def _order(letter: str) -> int:
    return "xyzwikj".find(letter) if letter in "xyzwikj" else 7 + ord(letter)


def _product_letters(left: int, right: int) -> tuple[str, str, str]:
    batch = "xyz"[: max(left, right, 2) - 2]
    a = batch[len(batch) - max(left - 2, 0) :] + ("ik" if left > 1 else "k")
    b = batch[len(batch) - max(right - 2, 0) :] + ("kj" if right > 1 else "k")
    return a, b, batch + ("i" if left > 1 else "") + ("j" if right > 1 else "")


def _letters(at: At) -> list[str]:
    """The letters of each operand of an einsum, and of its value."""
    equation = at.step.args[0]
    operands, arrow, value = str(equation).replace(" ", "").partition("->")
    parts = operands.split(",")
    if not arrow or "." in operands or any(len(set(part)) < len(part) for part in parts):
        raise ValueError("this einsum is no plain sum of products")
    return [*parts, value]


def is_contraction(at: At) -> bool:
    """A sum of products of two arrays."""
    if at.step.name not in CONTRACTIONS or not at.others:
        return False
    try:
        return bool(Contraction.of(at).summed)
    except ValueError:
        return False


def _is_sum(at: At) -> bool:
    return is_contraction(at) or at.x.shape != at.y.shape


def _terms(at: At) -> tuple[torch.Tensor, Axes]:
    """What is summed to the gradient: of a product its products, of a broadcast its copies; and over which axes."""
    if is_contraction(at):
        product = Contraction.of(at)
        return product.products(at), product.summed
    return at.g * at.d, sum(summed_axes(at.x.shape, at.y.shape), ())


def _shape(at: At) -> tuple[Sequence[int], Axes]:
    """The shape of the terms, and the axes that they are rightly summed over."""
    if is_contraction(at):
        product = Contraction.of(at)
        return [product.size(at, letter) for letter in product.letters], product.summed
    return at.y.shape, sum(summed_axes(at.x.shape, at.y.shape), ())


def _is_over_batch(at: At) -> bool:
    """The first axis that is summed over is the first of the product's several."""
    product = Contraction.of(at)
    return product.letters[product.summed[0]] == product.value[:1] and len(product.value) > 1


def _orders(at: At) -> Iterator[Parameters]:
    shape, _ = _shape(at)
    yield from ({"order": order} for order in itertools.permutations(range(len(shape))))


def _products_left(at: At, **_: Any) -> Parameters:
    shape, summed = _shape(at)
    return {"axes": at.axes(shape[i] for i in summed)}


Choice = Callable[[set[int], set[int], bool], bool]


def _other_sums(choice: Choice) -> Callable[[At], Iterator[Parameters]]:
    """Every wrong choice of axes of which `choice` is true; it takes them, the right ones, whether it keeps the batch."""

    def each(at: At) -> Iterator[Parameters]:
        shape, summed = _shape(at)
        for axes in subsets(tuple(range(len(shape)))):
            chosen, right = set(axes), set(summed)
            if chosen != right and choice(chosen, right, 0 in chosen - right):
                yield {"axes": axes}

    return each


def _of_summed(at: At) -> Iterator[Parameters]:
    yield from ({"axes": axes} for axes in subsets(_shape(at)[1]))


def _parts(at: At) -> Iterator[Parameters]:
    shape, summed = _shape(at)
    for axes in subsets(summed):
        if any(shape[axis] > 1 for axis in axes):
            yield from ({"axes": axes, "part": part} for part in PARTS)


def _difference(at: At, axes: Axes, **_: Any) -> Parameters:
    """The axes that are left, and those that are summed over too."""
    shape, summed = _shape(at)
    left, extra = (sorted(set(a) - set(b)) for a, b in ((summed, axes), (axes, summed)))
    return {"left": at.axes(shape[i] for i in left), "extra": at.axes(shape[i] for i in extra)}


def _named(at: At, axes: Axes | None = None, **rest: Any) -> Parameters:
    shape, summed = _shape(at)
    return {"axes": at.axes(shape[i] for i in (summed if axes is None else axes)), **rest}


def _total(at: At, axes: Axes) -> torch.Tensor:
    return _terms(at)[0].sum(axes)


def _part(at: At, axes: Axes, part: str) -> torch.Tensor:
    terms, summed = _terms(at)
    chosen = tuple(PARTS[part] if axis in axes else slice(None) for axis in range(terms.dim()))
    return terms[chosen].sum(summed)


def _mean(at: At, axes: Axes) -> torch.Tensor:
    terms, summed = _terms(at)
    return terms.sum(summed) / math.prod(terms.shape[axis] for axis in axes)


def _sum_operator(name: str, code: str, choice: Choice) -> Operator:
    return Operator(name, code, _total, _is_sum, _other_sums(choice), _difference)


SUMMING = (
    Operator("axes-not-summed", "missing-batch-sum", lambda at: at.g * at.d,
             lambda at: _is_sum(at) and not is_contraction(at), tell=_named),
    _sum_operator("axes-not-summed-part", "missing-batch-sum", lambda axes, right, batch: axes < right),
    _sum_operator("summed-over-batch-too", "extra-batch-sum", lambda axes, right, batch: axes > right and batch),
    _sum_operator("summed-over-too-much", "summed-wrong-axis", lambda axes, right, batch: axes > right and not batch),
    _sum_operator("summed-over-others", "summed-wrong-axis",
                  lambda axes, right, batch: not (axes < right or axes > right)),
    Operator("only-largest-term", "partial-batch", lambda at: (lambda t, s: t.amax(s))(*_terms(at)), _is_sum, tell=_named),
    Operator("only-some-terms", "partial-batch", _part, _is_sum, _parts, _named),
    Operator("mean-of-terms", "mean-for-sum", _mean, _is_sum, _of_summed, _named),
)  # fmt: skip


def _summed_first(at: At, axes: Axes) -> torch.Tensor:
    product = Contraction.of(at)
    return product.summed_first(at, "".join(product.letters[axis] for axis in axes))


def _count(at: At, axes: Axes) -> int:
    shape, _ = _shape(at)
    return math.prod(shape[axis] for axis in axes)


def _with_partner(change: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The rule with a changed partner."""

    def rule(at: At, **chosen: Any) -> torch.Tensor:
        (where,) = at.others
        return at.back(replaced={where: change(at.step.operand(where), **chosen)})

    return rule


def _inverted(q: torch.Tensor) -> torch.Tensor:
    """The transposed inverse. Learners have it in float32, where a nearly singular matrix has none to speak of."""
    if torch.linalg.cond(q).max() > NEARLY_SINGULAR:
        raise Vague("the matrix is nearly singular")
    inverse: torch.Tensor = torch.linalg.pinv(q)
    return inverse.mT


def _partner_is_matrix(at: At) -> bool:
    return len(at.others) == 1 and at.partner.dim() > 1


def _partner_is_stack(at: At) -> bool:
    return len(at.others) == 1 and at.partner.dim() > 2


def _of_one(place: slice) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda q: q[place].expand(q.shape)


def _reshaped(change: Callable[[torch.Tensor], torch.Tensor], when: Callable[[At], bool], name: str) -> Operator:
    return Operator(name, "reshape-for-transpose", _with_partner(change), when)


PRODUCT = (
    Operator("products-not-summed", "missing-batch-sum", lambda at, order: Contraction.of(at).products(at).permute(order),
             _is_over_batch, _orders, _products_left),
    Operator("products-not-summed", "elementwise-for-matmul",
             lambda at, order: Contraction.of(at).products(at).permute(order),
             lambda at: not _is_over_batch(at), _orders, _products_left),
    Operator("factors-summed-first", "sum-of-products", _summed_first, each=_of_summed, tell=_named),
    Operator("factors-reduced-first", "sum-of-products",
             lambda at, axes: _summed_first(at, axes) / _count(at, axes), each=_of_summed, tell=_named),
    Operator("factors-averaged-first", "sum-of-products",
             lambda at, axes: _summed_first(at, axes) / _count(at, axes) ** 2, each=_of_summed, tell=_named),
    _reshaped(lambda q: q.mT.reshape(q.shape), _partner_is_matrix, "factor-reshaped"),
    _reshaped(lambda q: q.reshape(q.mT.shape).mT, _partner_is_matrix, "factor-reshaped"),
    _reshaped(lambda q: q.reshape(q.shape[-1], *q.shape[:-1]).movedim(0, -1), _partner_is_matrix, "factor-reshaped"),
    _reshaped(lambda q: q.transpose(0, 1).reshape(q.shape), _partner_is_stack, "rows-in-another-order"),
    _reshaped(lambda q: q.reshape(q.shape[1], q.shape[0], *q.shape[2:]).transpose(0, 1), _partner_is_stack,
              "rows-in-another-order"),
    Operator("factor-not-transposed", "transposed", _with_partner(lambda q: _square(q).mT), _partner_is_matrix),
    Operator("factor-of-first-example", "partial-batch", _with_partner(_of_one(slice(0, 1))), _partner_is_stack),
    Operator("factor-of-last-example", "partial-batch", _with_partner(_of_one(slice(-1, None))), _partner_is_stack),
    Operator("inverse-for-transpose", "inverse-for-transpose", _with_partner(_inverted), _partner_is_matrix),
    Operator("gradient-transposed", "transposed", lambda at: _square(at.back()).mT, lambda at: at.x.dim() > 1),
    Operator("upstream-transposed", "transposed", lambda at: at.back(_square(at.g).mT), lambda at: at.y.dim() > 1),
)  # fmt: skip


def _square(q: torch.Tensor) -> torch.Tensor:
    if q.shape[-1] != q.shape[-2]:
        raise ValueError("only a square matrix has the shape of its transpose")
    return q
