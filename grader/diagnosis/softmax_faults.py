"""Slips in softmax, log-softmax and logsumexp: the shares of a row, and the sum that its entries have in common.

With shares p = exp(x) / sum of exp(x) along an axis, and g upstream, the three rules are
softmax p (g - sum of p g), log-softmax g - p (sum of g), logsumexp p g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import torch

from grader.reference.trace import Position, Rule, Step, Trace
from grader.shapes import Sizes, name_axes

from .fault import Fault, Make, name_of, words
from .summing_faults import Axes, subsets

Shares = Callable[[torch.Tensor, Axes], torch.Tensor]


def softmax_faults(
    trace: Trace, step: Step, position: Position, sizes: Sizes, fault: Make, *, upstream_given: bool
) -> Iterator[Fault]:
    """Slips in the gradient of `step` with respect to the operand at `position`."""
    shape = step.operand(position).shape
    if not shape:
        return
    operand = name_of(trace, dict(step.operands)[position])
    for code, says, shares in SHARES:
        yield fault(code, says.format(operand=operand), _with_shares(position, shares))
    for axes, there, here in _other_axes(step, position, sizes):
        says = f"the shares add up to 1 over {there}, not over {here}"
        yield fault("summed-wrong-axis", says, _along(position, axes))
    if step.name == "logsumexp":
        return
    for code, says, mixed in (*SUMS["both"], *SUMS[step.name]):
        yield fault(code, says, _mixed(position, mixed))
    for axes, there, here in _other_axes(step, position, sizes):
        yield fault("summed-wrong-axis", f"it is summed over {there}, not over {here}", _mixed(position, _over(axes)))
    if upstream_given and step.key == trace.out:
        what = words(step)
        ones, itself = (lambda step: torch.ones_like(step.value)), (lambda step: step.value)
        yield fault("missing-upstream", f"out.g is missing in the sum of {what}", _instead(position, ones, in_sum=True))
        says = f"out.g is there only in the sum of {what}"
        yield fault("missing-upstream", says, _instead(position, ones, in_sum=False))
        out = name_of(trace, step.key)
        for in_sum, where in ((True, f"in the sum of {what}"), (False, f"in all of {what} but the sum")):
            says = f"{out} stands where out.g belongs {where}"
            yield fault("value-for-gradient", says, _instead(position, itself, in_sum=in_sum))
        says = f"out.g is subtracted from what {what} gave, as if it were a target"
        yield fault("wrong-local", says, lambda trace, step, g: step.value - g)
        says = f"the shares of {what} stand without out.g: its sum over the row belongs with them"
        yield fault("missing-upstream", says, _mixed(position, lambda g, p, own, terms, axes: own - p))


def _other_axes(step: Step, position: Position, sizes: Sizes) -> Iterator[tuple[Axes, str, str]]:
    """Every wrong choice of axes, in words, and the right one."""
    shape, right = step.operand(position).shape, _axes(step, position)
    for axes in subsets(tuple(range(len(shape)))):
        if axes != right:
            there, here = (name_axes([shape[i] for i in which], sizes) for which in (axes, right))
            yield axes, there, here


def _axes(step: Step, position: Position) -> Axes:
    """The axes that the shares add up to 1 over, counted from the front."""
    dim = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else None)
    rank = step.operand(position).dim()
    return tuple(sorted(axis % rank for axis in (dim if isinstance(dim, (tuple, list)) else (dim,))))


def _softmax(x: torch.Tensor, axes: Axes) -> torch.Tensor:
    return (x - x.logsumexp(axes, keepdim=True)).exp()


def _apply(step: Step, position: Position, shares: torch.Tensor, g: torch.Tensor, axes: Axes) -> torch.Tensor:
    """The step's rule with these shares, and with the sums over these axes."""
    if step.name == "logsumexp":
        kept = [1 if i in _axes(step, position) else size for i, size in enumerate(step.operand(position).shape)]
        return shares * g.reshape(kept)
    if step.name == "softmax":
        return shares * (g - (shares * g).sum(axes, keepdim=True))
    return g - shares * g.sum(axes, keepdim=True)


def _with_shares(position: Position, shares: Shares) -> Rule:
    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        axes = _axes(step, position)
        return _apply(step, position, shares(step.operand(position), axes), g, axes)

    return rule


def _along(position: Position, axes: Axes) -> Rule:
    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        return _apply(step, position, _softmax(step.operand(position), axes), g, axes)

    return rule


def _over_total(x: torch.Tensor, axes: Axes) -> torch.Tensor:
    return x / x.logsumexp(axes, keepdim=True).exp()


# What may stand where the shares belong.
SHARES: tuple[tuple[str, str, Shares], ...] = (
    ("missing-local", "the exponentials are not divided by the sum of the row's exponentials",
     lambda x, axes: x.exp()),
    ("missing-local", "only one over the sum of the row's exponentials is there: the exponential is left out",
     lambda x, axes: _over_total(x, axes) / x),
    ("missing-local", "the shares that softmax gives are left out",
     lambda x, axes: torch.ones_like(x)),
    ("wrong-point", "{operand} stands where the shares, its softmax, belong",
     lambda x, axes: x),
    ("wrong-point", "the logarithms of the shares stand where the shares belong",
     lambda x, axes: x - x.logsumexp(axes, keepdim=True)),
    ("wrong-point", "the exponentials are divided by the logarithm of their sum",
     lambda x, axes: x.exp() / x.logsumexp(axes, keepdim=True)),
    ("wrong-point", "the values are divided by the sum of the exponentials",
     lambda x, axes: _over_total(x, axes)),
    ("missing-local", "the values are divided by their sum: the exponential is left out",
     lambda x, axes: x / x.sum(axes, keepdim=True)),
    ("wrong-point", "softmax is taken twice",
     lambda x, axes: _softmax(_softmax(x, axes), axes)),
    ("wrong-local", "the shares are those of sigmoid: no entry knows of the others",
     lambda x, axes: x.sigmoid()),
    ("wrong-local", "the shares are upside down: the larger an entry, the less it gets",
     lambda x, axes: 1 / _softmax(x, axes)),
    ("wrong-sign", "the shares are those of the values with their signs turned",
     lambda x, axes: _softmax(-x, axes)),
    ("wrong-local", "1 is subtracted from every share",
     lambda x, axes: _softmax(x, axes) - 1),
    ("wrong-local", "the sum of the exponentials stands where the shares belong",
     lambda x, axes: x.logsumexp(axes, keepdim=True).exp().expand(x.shape)),
    ("wrong-local", "every entry of a row gets the same share",
     lambda x, axes: torch.ones_like(x) / math.prod(x.shape[axis] for axis in axes)),
    ("wrong-local", "this is how a share reacts to its own entry; the share itself belongs here",
     lambda x, axes: _softmax(x, axes) * (1 - _softmax(x, axes))),
    ("wrong-local", "the largest entry of a row gets everything",
     lambda x, axes: (x == x.amax(axes, keepdim=True)).to(x.dtype)),
)  # fmt: skip


Mixed = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Axes], torch.Tensor]


def _total(terms: torch.Tensor, axes: Axes) -> torch.Tensor:
    return terms.sum(axes, keepdim=True)


# Each from upstream g, shares p, an entry's own part, and the terms that the row sums: own - p * sum(terms) is right.
SUMS: Mapping[str, tuple[tuple[str, str, Mixed], ...]] = {
    "both": (
        ("missing-path", "only an entry's own part is there; the sum that its row has in common is missing",
         lambda g, p, own, terms, axes: own),
        ("missing-path", "only the sum that a row has in common is there; each entry's own part is missing",
         lambda g, p, own, terms, axes: -p * _total(terms, axes)),
        ("wrong-sign", "the sum that a row has in common is added where it must be subtracted",
         lambda g, p, own, terms, axes: own + p * _total(terms, axes)),
        ("mean-for-sum", "this is the mean over a row where its sum belongs",
         lambda g, p, own, terms, axes: own - p * terms.mean(axes, keepdim=True)),
        ("diagonal-only", "each entry counts only its own effect on itself; its row's other outputs move too",
         lambda g, p, own, terms, axes: own - p * terms),
        ("missing-path", "the effect of each entry on its own output is missing; only that on the others is there",
         lambda g, p, own, terms, axes: -p * (_total(terms, axes) - terms)),
        ("wrong-sign", "the effect of each entry on the other outputs of its row has the wrong sign",
         lambda g, p, own, terms, axes: own + p * (_total(terms, axes) - 2 * terms)),
        ("missing-local", "the sum is taken from every entry alike, and not in the shares that softmax gives",
         lambda g, p, own, terms, axes: own - _total(terms, axes)),
    ),
    "softmax": (
        ("missing-local", "the terms are summed without their shares",
         lambda g, p, own, terms, axes: own - p * _total(g, axes)),
        ("missing-local", "the terms are averaged evenly, where the shares are their weights",
         lambda g, p, own, terms, axes: own - p * g.mean(axes, keepdim=True)),
        ("missing-local", "the share in front, by which all of it is multiplied, is left out",
         lambda g, p, own, terms, axes: g - _total(terms, axes)),
        ("wrong-operand", "in the sum an entry's own share stands where each of the others belongs",
         lambda g, p, own, terms, axes: own - p * p * _total(g, axes)),
        ("missing-path", "every entry gets its share of the summed gradient; how it moves the others is missing",
         lambda g, p, own, terms, axes: p * _total(g, axes)),
        ("missing-local", "each entry's own part lacks its share",
         lambda g, p, own, terms, axes: g - p * _total(terms, axes)),
        ("wrong-local", "this is the rule for log-softmax, not for softmax",
         lambda g, p, own, terms, axes: g - p * _total(g, axes)),
    ),
    "log_softmax": (
        ("extra-factor", "the terms are weighted with the shares, where a plain sum belongs",
         lambda g, p, own, terms, axes: own - p * _total(p * g, axes)),
        ("wrong-local", "the shares stand inside the sum, where they belong in front of it",
         lambda g, p, own, terms, axes: own - _total(p * g, axes)),
        ("wrong-local", "the sum of the row stands where each entry's own upstream gradient belongs, too",
         lambda g, p, own, terms, axes: _total(g, axes) - p * _total(g, axes)),
        ("missing-local", "the logarithm is differentiated, the softmax inside it is not",
         lambda g, p, own, terms, axes: g / p),
        ("wrong-local", "this is the rule for softmax, not for log-softmax",
         lambda g, p, own, terms, axes: p * (g - _total(p * g, axes))),
    ),
}  # fmt: skip


def _over(other: Axes) -> Mixed:
    return lambda g, p, own, terms, axes: own - p * _total(terms, other)


def _mixed(position: Position, mixed: Mixed) -> Rule:
    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        axes = _axes(step, position)
        return mixed(g, *_parts(step, position, g, axes), axes)

    return rule


def _instead(position: Position, other: Callable[[Step], torch.Tensor], *, in_sum: bool) -> Rule:
    """Another array in place of upstream, in the row's sum or in each entry's own part."""

    def rule(_trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        axes = _axes(step, position)
        p, own, terms = _parts(step, position, g, axes)
        _, other_own, other_terms = _parts(step, position, other(step), axes)
        return own - p * _total(other_terms, axes) if in_sum else other_own - p * _total(terms, axes)

    return rule


def _parts(
    step: Step, position: Position, g: torch.Tensor, axes: Axes
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The shares, an entry's own part, and the terms that its row sums."""
    p = _softmax(step.operand(position), axes)
    return (p, p * g, p * g) if step.name == "softmax" else (p, g, g)
