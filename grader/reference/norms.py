"""What normalises a row of a forward pass: softmax and its kin, and norms, which divide by the root of the squares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from .operand_view import At
from .operations import PRODUCTS
from .trace import Trace


@dataclass(frozen=True)
class Norm:
    """A value that is divided by the root of its own squares, and the way back through that in one formula.

    From the normalised value h, the gradient g that arrives there, and what it was multiplied by, r, the operand x gets
    `r (g - mean(g) - h sum(g h) / count)`; the mean is there where the operand was centred first.
    """

    source: str  # the operand's key
    axes: tuple[int, ...]
    centred: bool
    count: float
    r: torch.Tensor
    h: torch.Tensor
    x: torch.Tensor
    before: tuple[int, ...]  # the operand's shape before it was brought into this one
    factor: At | None = None  # where the operand is multiplied by something before it is divided
    gain: torch.Tensor | None = None  # what the normalised value is multiplied by in the same operation

    def arriving(self, g: torch.Tensor) -> torch.Tensor:
        """The gradient that arrives at the normalised value itself."""
        g = g if self.gain is None else g * self.gain
        return g if self.factor is None else g * self.factor.partner

    def total(self, terms: torch.Tensor, axes: tuple[int, ...] | None = None) -> torch.Tensor:
        return terms.sum(self.axes if axes is None else axes, keepdim=True)

    def mean(self, g: torch.Tensor, axes: tuple[int, ...] | None = None) -> torch.Tensor:
        """What centring takes off; nothing where it is not centred."""
        return g.mean(self.axes if axes is None else axes, keepdim=True) if self.centred else torch.zeros_like(g)

    def share(self, terms: torch.Tensor) -> torch.Tensor:
        return self.total(terms) / self.count

    def right(self, g: torch.Tensor) -> torch.Tensor:
        return self.r * (g - self.mean(g) - self.h * self.share(g * self.h))


def _before(trace: Trace, key: str) -> tuple[int, ...]:
    """The shape that a value had before it was reshaped, or its own."""
    made = trace.steps[int(key[1:])] if key.startswith("%") else None
    reshaped = made is not None and made.name in {"reshape", "view"} and bool(made.operands)
    return tuple((made.operand(made.operands[0][0]) if made and reshaped else trace.values()[key]).shape)


def norm_at(trace: Trace, index: int) -> Norm | None:
    """The norm whose normalised value a step gives, if it gives one."""
    if ("norm", index) not in trace.memo:
        trace.memo["norm", index] = _norm_at(At(trace, trace.steps[index]))
    return trace.memo["norm", index]  # type: ignore[no-any-return]


# Operations that normalise and multiply at once; whether they centre.
AT_ONCE = {"layer_norm": True, "rms_norm": False, "batch_norm": True}


def _at_once(at: At) -> Norm | None:
    x, given, centred = at.step.operand((0,)), at.step.kwargs, AT_ONCE[at.name]
    axes, gain = (0, *range(2, x.dim())), given.get("weight")
    if at.name != "batch_norm":
        axes = tuple(range(x.dim() - len(at.step.args[1]), x.dim()))
    elif gain is not None:
        gain = gain.view(-1, *(1,) * (x.dim() - 2))
    h = x - (x.mean(axes, keepdim=True) if centred else 0)
    r = (h.square().mean(axes, keepdim=True) + (given.get("eps") or 0)).rsqrt()
    n = math.prod(x.shape[i] for i in axes)
    norm = Norm(dict(at.step.operands)[(0,)], axes, centred, n, r, h * r, x, tuple(x.shape), gain=gain)
    g = torch.linspace(-1, 2, at.y.numel(), dtype=at.y.dtype).view(at.y.shape).sin()
    return norm if torch.allclose(norm.right(norm.arriving(g)), at.step.vjp((0,), g), 1e-9, 1e-12) else None


def _norm_at(at: At) -> Norm | None:
    if at.name in AT_ONCE and (0,) in dict(at.step.operands):
        return _at_once(at)
    if at.name not in PRODUCTS or len(at.step.operands) != 2:
        return None
    (one, _), (two, _) = at.step.operands
    right = at.step.operand(two)
    scale, other = (two, one) if right.numel() < at.y.numel() or right.dim() < at.y.dim() else (one, two)
    r = at.step.operand(scale)
    if (at.name == "div" and scale == one) or at.step.operand(other).shape != at.y.shape:
        return None
    added = at.y.dim() - r.dim()
    r = (1 / r if at.name == "div" else r)[(None,) * added]
    axes = tuple(i for i, size in enumerate(at.y.shape) if i < added or r.shape[i] == 1 < size)
    n, inside = math.prod(at.y.shape[i] for i in axes), at.trace.reaches(at.step.key)
    for numerator, factor in _numerators(at, at.key(other)):
        values, weight = at.trace.values(), 1 if factor is None else factor.partner
        shared = at.trace.reaches(at.key(scale)) & at.trace.reaches(numerator)
        for source in (key for key, value in values.items() if key in shared and value.shape == at.y.shape):
            between = (inside & at.trace.depends(source)) - {source, at.step.key}
            if any(at.trace.steps[i].key not in inside for key in between for i, _ in at.trace.uses(key)):
                continue
            g = torch.linspace(-1, 2, at.y.numel(), dtype=at.y.dtype).view(at.y.shape).sin()
            steps = at.trace.steps[: at.step.index + 1]
            found = replace(at.trace, steps=steps, out=at.step.key, out_g=g, memo={}).gradients(source)[source]
            for centred, count in itertools.product((True, False), (n, n - 1, 1)):
                h, before = values[numerator] * r, _before(at.trace, source)
                norm = Norm(source, axes, centred, count, r, h, values[source], before, factor)
                if count and axes and torch.allclose(norm.right(g * weight), found, 1e-9, 1e-12):
                    return norm
    return None


def _numerators(at: At, key: str) -> Iterator[tuple[str, At | None]]:
    """What is divided, and where that is a product, either of its factors with the place at which it is one."""
    yield key, None
    made = at.trace.steps[int(key[1:])] if key.startswith("%") else None
    if made is not None and made.name == "mul" and len(made.operands) == 2:
        for where, factor in made.operands:
            if made.operand(where).shape == at.y.shape:
                yield factor, At(at.trace, made, where)


def axes_of(at: At) -> tuple[int, ...]:
    """The axes that the shares add up to 1 over, counted from the front."""
    dim = at.step.kwargs.get("dim", at.step.args[1] if len(at.step.args) > 1 else None)
    return tuple(sorted(axis % at.x.dim() for axis in (dim if isinstance(dim, (tuple, list)) else (dim,))))


def softmax(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return (x - x.logsumexp(axes, keepdim=True)).exp()


def applied(at: At, shares: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """The step's rule with these shares, and with the sums over these axes."""
    if at.name == "logsumexp":
        return shares * at.g.reshape([1 if i in axes_of(at) else size for i, size in enumerate(at.x.shape)])
    if at.name == "softmax":
        return shares * (at.g - (shares * at.g).sum(axes, keepdim=True))
    return at.g - shares * at.g.sum(axes, keepdim=True)


@dataclass(frozen=True)
class Row:
    """What the rule of a softmax or log-softmax is made of: `own - p * total(own)` is right."""

    g: torch.Tensor  # what arrives
    p: torch.Tensor  # the shares
    own: torch.Tensor  # what an entry gets of its own, and what its row sums
    axes: tuple[int, ...]  # what it sums that over

    @classmethod
    def of(cls, at: At, g: torch.Tensor | None = None, axes: tuple[int, ...] | None = None) -> Row:
        """The right one; of another upstream gradient, or with the sum over other axes."""
        g, p = at.g if g is None else g, softmax(at.x, axes_of(at))
        return cls(g, p, p * g if at.name == "softmax" else g, axes_of(at) if axes is None else axes)

    def total(self, terms: torch.Tensor) -> torch.Tensor:
        return terms.sum(self.axes, keepdim=True)
