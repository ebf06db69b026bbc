"""Slips in sums of products, and in a matrix's inverse and determinant: which partner, which transpose, which axes.

The way back through an inverse y is -y.T @ g @ y.T, through a determinant g * y * x^-T.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import torch

from grader.reference.operand_view import At
from grader.reference.operations import CONTRACTIONS
from grader.reference.sums_of_products import Contraction
from grader.reference.trial import Vague
from grader.shapes import PARTS

from .operator import Operator, Parameters, as_chosen, one_of
from .pointwise import Axes, broadcast_axes

NEARLY_SINGULAR = 100.0


def subsets(axes: Axes) -> Iterator[Axes]:
    """Every non-empty subset, the largest first."""
    for count in range(len(axes), 0, -1):
        yield from itertools.combinations(axes, count)


def transposed(q: torch.Tensor) -> torch.Tensor:
    if q.dim() < 2 or q.shape[-1] != q.shape[-2]:
        raise ValueError("only a square matrix has the shape of its transpose")
    return q.mT


def is_contraction(at: At) -> bool:
    """A sum of products of two arrays."""
    if at.name not in CONTRACTIONS or not at.others:
        return False
    try:
        return bool(Contraction.of(at).summed)
    except ValueError:
        return False


def _is_sum(at: At) -> bool:
    return is_contraction(at) or at.x.shape != at.y.shape


def _terms(at: At) -> torch.Tensor:
    """What is summed to the gradient: of a product its products, of a broadcast its copies."""
    return Contraction.of(at).products() if is_contraction(at) else at.g * at.d


def _shape(at: At) -> tuple[Sequence[int], Axes]:
    """The shape of the terms, and the axes that they are rightly summed over."""
    if is_contraction(at):
        product = Contraction.of(at)
        return [product.sizes[letter] for letter in product.letters], product.summed
    return at.y.shape, broadcast_axes(at)


def _of_summed(at: At) -> Iterator[Parameters]:
    return ({"axes": axes} for axes in subsets(_shape(at)[1]))


def _named(at: At, axes: Axes | None = None, **more: str) -> Parameters:
    shape, summed = _shape(at)
    return {"axes": at.axes(shape[i] for i in (summed if axes is None else axes)), **more}


def _count(at: At, axes: Axes) -> int:
    return math.prod(_shape(at)[0][axis] for axis in axes)


def _part(at: At, axes: Axes, part: str) -> torch.Tensor:
    shape, summed = _shape(at)
    return _terms(at)[tuple(PARTS[part] if axis in axes else slice(None) for axis in range(len(shape)))].sum(summed)


def _sum(name: str, code: str, choice: Callable[[set[int], set[int]], bool]) -> Operator:
    """A sum over other axes, those of which `choice` is true, beside the right ones."""

    def each(at: At) -> Iterator[Parameters]:
        shape, summed = _shape(at)
        right = set(summed)
        for axes in subsets(tuple(range(len(shape)))):
            if set(axes) != right and choice(set(axes), right):
                yield {"axes": axes}

    def tell(at: At, axes: Axes) -> Parameters:
        """The axes that are left, and those that are summed over too."""
        shape, summed = _shape(at)
        left, extra = (sorted(set(a) - set(b)) for a, b in ((summed, axes), (axes, summed)))
        return {"left": at.axes(shape[i] for i in left), "extra": at.axes(shape[i] for i in extra)}

    return Operator(name, code, lambda at, axes: _terms(at).sum(axes), _is_sum, each, tell)


SUMMING = (
    Operator("axes-not-summed", "missing-batch-sum", lambda at: at.g * at.d,
             lambda at: _is_sum(at) and not is_contraction(at), tell=_named),
    _sum("axes-not-summed-part", "missing-batch-sum", lambda axes, right: axes < right),
    _sum("summed-over-too-much", "summed-wrong-axis", lambda axes, right: axes > right),
    _sum("summed-over-others", "summed-wrong-axis", lambda axes, right: not (axes < right or axes > right)),
    Operator("only-largest-term", "partial-batch", lambda at: _terms(at).amax(_shape(at)[1]), _is_sum, tell=_named),
    Operator("only-some-terms", "partial-batch", _part, _is_sum, lambda at: ({"axes": axes, "part": part}
             for axes in subsets(_shape(at)[1]) if _count(at, axes) > 1 for part in PARTS), _named),
    Operator("mean-of-terms", "mean-for-sum", lambda at, axes: _terms(at).sum(_shape(at)[1]) / _count(at, axes),
             _is_sum, _of_summed, _named),
    Operator("summed-over-batch-too", "extra-batch-sum", lambda at: at.back().sum(0, keepdim=True).expand(at.x.shape),
             lambda at: _is_sum(at) and at.x.dim() > 1 and at.x.shape[0] == at.y.shape[0], tell=_named),
)  # fmt: skip


def _is_over_batch(at: At) -> bool:
    """The first axis that is summed over is the first of the product's several."""
    product = Contraction.of(at)
    value, *_ = product.axes
    return product.letters[product.summed[0]] == value[:1] and len(value) > 1


def _products(code: str, when: Callable[[At], bool]) -> Operator:
    return Operator("products-not-summed", code, lambda at, order: _terms(at).permute(order), when,
                    lambda at: ({"order": order} for order in itertools.permutations(range(len(_shape(at)[0])))),
                    lambda at, order: _named(at))  # fmt: skip


def _partner(name: str, code: str, change: Callable[[torch.Tensor], torch.Tensor], rank: int = 2) -> Operator:
    """The rule with a changed partner, a matrix or, by its rank, a stack of them."""
    return Operator(name, code, lambda at: at.back(replaced={at.others[0]: change(at.partner)}),
                    lambda at: len(at.others) == 1 and at.partner.dim() >= rank)  # fmt: skip


def _inverted(q: torch.Tensor) -> torch.Tensor:
    """The transposed inverse. Learners have it in float32, where a nearly singular matrix has none to speak of."""
    if torch.linalg.cond(q).max() > NEARLY_SINGULAR:
        raise Vague("the matrix is nearly singular")
    inverse: torch.Tensor = torch.linalg.pinv(q)
    return inverse.mT


UPSTREAM_TRANSPOSED = Operator(
    "upstream-transposed", "transposed", lambda at: at.back(transposed(at.g)), lambda at: at.y.dim() > 1
)
PRODUCT = (
    _products("missing-batch-sum", _is_over_batch),
    _products("elementwise-for-matmul", lambda at: not _is_over_batch(at)),
    Operator("factors-summed-first", "sum-of-products", lambda at, axes: Contraction.of(at).summed_first(axes),
             each=_of_summed, tell=_named),
    _partner("factor-reshaped", "reshape-for-transpose", lambda q: q.mT.reshape(q.shape)),
    _partner("factor-reshaped", "reshape-for-transpose", lambda q: q.reshape(q.mT.shape).mT),
    _partner("factor-reshaped", "reshape-for-transpose",
             lambda q: q.reshape(q.shape[-1], *q.shape[:-1]).movedim(0, -1)),
    _partner("rows-in-another-order", "reshape-for-transpose", lambda q: q.transpose(0, 1).reshape(q.shape), 3),
    _partner("rows-in-another-order", "reshape-for-transpose",
             lambda q: q.reshape(q.shape[1], q.shape[0], *q.shape[2:]).transpose(0, 1), 3),
    _partner("factor-not-transposed", "transposed", transposed),
    _partner("factor-averaged", "wrong-operand", lambda q: q.mean(0, keepdim=True).expand(q.shape), 3),
    _partner("inverse-for-transpose", "inverse-for-transpose", _inverted),
    Operator("product-left-out", "missing-local", lambda at: at.g, lambda at: at.y.shape == at.x.shape),
    UPSTREAM_TRANSPOSED,
)  # fmt: skip


INVERSES, DETERMINANTS = {"inverse", "linalg_inv"}, {"det", "linalg_det"}


def is_inverting(at: At) -> bool:
    """The inverse of a matrix, or a determinant: what goes back goes through the inverse."""
    return at.name in INVERSES | DETERMINANTS


Sides = Callable[[torch.Tensor], tuple[torch.Tensor | None, torch.Tensor | None]]


def _between(name: str, code: str, *sides: tuple[str, Sides]) -> Operator:
    """What arrives between other factors than the inverse, turned round, on its left and on its right."""
    by_side = dict(sides)

    def rule(at: At, side: str) -> torch.Tensor:
        left, right = by_side[side](at.y)
        found = at.g if left is None else left @ at.g
        return -(found if right is None else found @ right)

    return Operator(name, code, rule, lambda at: at.name in INVERSES, one_of("side", by_side),
                    as_chosen)  # fmt: skip


def _determinant(name: str, code: str, factor: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    """The upstream gradient and the determinant, times something else than the inverse turned round."""
    return Operator(name, code, lambda at: (at.g * at.y)[..., None, None] * factor(at.x),
                    lambda at: at.name in DETERMINANTS)  # fmt: skip


INVERTING = (
    _between("inverse-not-transposed", "transposed", ("on both sides", lambda y: (y, y)),
             ("on the left", lambda y: (y, y.mT)), ("on the right", lambda y: (y.mT, y))),
    _between("inverse-on-one-side", "missing-local", ("left", lambda y: (y.mT, None)),
             ("right", lambda y: (None, y.mT))),
    _between("inverse-twice-on-one-side", "wrong-operand", ("left", lambda y: (y.mT @ y.mT, None)),
             ("right", lambda y: (None, y.mT @ y.mT))),
    *(Operator("inverse-entry-by-entry", "elementwise-for-matmul", rule, lambda at: at.name in INVERSES)
      for rule in (lambda at: -at.g * at.y**2, lambda at: -at.g / at.x**2)),
    _determinant("determinant-entry-by-entry", "elementwise-for-matmul", torch.reciprocal),
    _determinant("determinant-as-of-diagonal", "wrong-local", lambda x: (1 / x.diagonal(0, -2, -1)).diag_embed()),
    _determinant("determinant-without-inverse", "inverse-for-transpose", lambda x: x.mT),
    Operator("determinant-missing", "missing-local", lambda at: at.back() / at.y[..., None, None],
             lambda at: at.name in DETERMINANTS),
    UPSTREAM_TRANSPOSED,
)  # fmt: skip
