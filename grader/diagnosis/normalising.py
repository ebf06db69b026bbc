"""Slips in what normalises a row: softmax and its kin, whose shares add up to 1, and norms, whose squares do.

With shares p = exp(x) / sum of exp(x) along an axis, and g upstream, the three rules are
softmax p (g - sum of p g), log-softmax g - p (sum of g), logsumexp p g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from grader.reference.edges import bypassed
from grader.reference.norms import Norm, Row, applied, axes_of, norm_at, softmax
from grader.reference.operand_view import At
from grader.reference.operations import RESHAPES, step_name
from grader.reference.trace import Line, Place, Position, Rule, Rules, Step, Trace

from .contraction import subsets
from .operator import Kind, Operator, Parameters, Spot
from .pointwise import Axes


def _shares(name: str, code: str, shares: Callable[[torch.Tensor, Axes], torch.Tensor]) -> Operator:
    return Operator(name, code, lambda at: applied(at, shares(at.x, axes_of(at)), axes_of(at)),
                    lambda at: at.x.dim() > 0, tell=lambda at: {"operand": at.named(at.source)})  # fmt: skip


def _mixed(name: str, code: str, mixed: Callable[[Row], torch.Tensor], of: str = "softmax log_softmax") -> Operator:
    return Operator(name, code, lambda at: mixed(Row.of(at)), lambda at: at.x.dim() > 0 and at.name in of.split())


def _in_two(own: Row, summed: Row) -> torch.Tensor:
    """The rule with each entry's own part and the sum of its row made of two rows."""
    return own.own - own.p * summed.total(summed.own)


def _is_given_upstream(at: At) -> bool:
    return at.x.dim() > 0 and at.name != "logsumexp" and at.is_given_last


def _other_axes(at: At) -> Iterator[Parameters]:
    return ({"axes": axes} for axes in subsets(tuple(range(at.x.dim()))) if axes != axes_of(at))


def _there_and_here(at: At, axes: Axes) -> Parameters:
    there, here = (at.axes(at.x.shape[i] for i in which) for which in (axes, axes_of(at)))
    if there == here:  # two axes of one name
        there, here = ([[f"axis {i}", at.x.shape[i]] for i in which] for which in (axes, axes_of(at)))
    return {"there": there, "here": here}


def _mask_of(at: At) -> Step | None:
    """What fills the operand of a softmax with -inf, where something does."""
    made = at.trace.steps[int(at.source[1:])] if at.source.startswith("%") else None
    fills = made is not None and made.name == "masked_fill" and made.args[2:] == (-math.inf,)
    return made if fills else None


def _masked_later(at: At) -> torch.Tensor:
    """The shares among all entries, those of the masked ones replaced by 0."""
    made = _mask_of(at)
    if made is None:
        raise ValueError("nothing is masked in this trial")
    return softmax(made.operand((0,)), axes_of(at)).masked_fill(made.args[1], 0.0)


SOFTMAX = (
    Operator("operation-ignored", "missing-local", lambda at: at.g, lambda at: at.name == "softmax" and at.x.dim() > 0),
    _shares("exponentials-not-divided", "missing-local", lambda x, axes: x.exp()),
    _shares("exponential-missing", "missing-local", lambda x, axes: x / x.logsumexp(axes, keepdim=True).exp() / x),
    _shares("shares-missing", "missing-local", lambda x, axes: torch.ones_like(x)),
    _shares("operand-for-shares", "wrong-point", lambda x, axes: x),
    _shares("logarithms-for-shares", "wrong-point", lambda x, axes: x - x.logsumexp(axes, keepdim=True)),
    _shares("divided-by-logsumexp", "wrong-point", lambda x, axes: x.exp() / x.logsumexp(axes, keepdim=True)),
    _shares("values-over-sum", "missing-local", lambda x, axes: x / x.sum(axes, keepdim=True)),
    _shares("softmax-twice", "wrong-point", lambda x, axes: softmax(softmax(x, axes), axes)),
    _shares("sigmoid-for-softmax", "wrong-local", lambda x, axes: x.sigmoid()),
    _shares("shares-upside-down", "wrong-local", lambda x, axes: 1 / softmax(x, axes)),
    _shares("values-negated-in-shares", "wrong-sign", lambda x, axes: softmax(-x, axes)),
    _shares("one-subtracted-from-shares", "wrong-local", lambda x, axes: softmax(x, axes) - 1),
    _shares("total-for-shares", "wrong-local", lambda x, axes: x.logsumexp(axes, keepdim=True).exp().expand(x.shape)),
    _shares("equal-shares", "wrong-local", lambda x, axes: torch.ones_like(x) / math.prod(x.shape[i] for i in axes)),
    _shares("derivative-of-share-for-share", "wrong-local", lambda x, axes: (p := softmax(x, axes)) * (1 - p)),
    _shares("largest-takes-all", "wrong-local", lambda x, axes: (x == x.amax(axes, keepdim=True)).to(x.dtype)),
    Operator("shares-over-other-axes", "summed-wrong-axis", lambda at, axes: applied(at, softmax(at.x, axes), axes),
             lambda at: at.x.dim() > 0, _other_axes, _there_and_here),
    Operator("masked-later", "wrong-local", lambda at: applied(at, _masked_later(at), axes_of(at)),
             lambda at: at.name == "softmax" and _mask_of(at) is not None,
             tell=lambda at: {"after": step_name(at.step)}),
    _mixed("only-own-part", "missing-path", lambda r: r.own),
    _mixed("only-row-sum", "missing-path", lambda r: -r.p * r.total(r.own)),
    _mixed("row-sum-added", "wrong-sign", lambda r: r.own + r.p * r.total(r.own)),
    _mixed("row-mean-for-sum", "mean-for-sum", lambda r: r.own - r.p * r.total(r.own) / r.total((r.p > 0).to(r.p))),
    _mixed("only-diagonal-of-softmax", "diagonal-only", lambda r: r.own - r.p * r.own),
    _mixed("own-effect-missing", "missing-path", lambda r: -r.p * (r.total(r.own) - r.own)),
    _mixed("effect-on-others-negated", "wrong-sign", lambda r: r.own + r.p * (r.total(r.own) - 2 * r.own)),
    _mixed("row-sum-without-shares", "missing-local", lambda r: r.own - r.total(r.own)),
    _mixed("terms-without-shares", "missing-local", lambda r: r.own - r.p * r.total(r.g), "softmax"),
    _mixed("terms-without-shares", "missing-local", lambda r: r.own - r.p * r.total(r.g * (r.p > 0)), "softmax"),
    _mixed("terms-averaged-evenly", "missing-local", lambda r: r.own - r.p * r.g.mean(r.axes, keepdim=True), "softmax"),
    _mixed("share-in-front-missing", "missing-local", lambda r: r.g - r.total(r.own), "softmax"),
    _mixed("own-share-for-others", "wrong-operand", lambda r: r.own - r.p * r.p * r.total(r.g), "softmax"),
    _mixed("share-of-summed-gradient", "missing-path", lambda r: r.p * r.total(r.g), "softmax"),
    _mixed("own-part-without-share", "missing-local", lambda r: r.g - r.p * r.total(r.own), "softmax"),
    _mixed("shares-before-too", "extra-factor", lambda r: r.p * (r.own - r.total(r.p * r.own)), "softmax"),
    _mixed("log-softmax-for-softmax", "wrong-local", lambda r: r.g - r.p * r.total(r.g), "softmax"),
    _mixed("terms-weighted", "extra-factor", lambda r: r.own - r.p * r.total(r.p * r.g), "log_softmax"),
    _mixed("shares-inside-the-sum", "wrong-local", lambda r: r.own - r.total(r.p * r.g), "log_softmax"),
    _mixed("row-sum-for-own-gradient", "wrong-local", lambda r: r.total(r.g) - r.p * r.total(r.g), "log_softmax"),
    _mixed("softmax-behind-log-softmax", "extra-factor",
           lambda r: r.p * ((d := r.own - r.p * r.total(r.own)) - r.total(r.p * d)), "log_softmax"),
    _mixed("only-logarithm-differentiated", "missing-local", lambda r: r.g / r.p, "log_softmax"),
    _mixed("softmax-for-log-softmax", "wrong-local", lambda r: r.p * (r.g - r.total(r.p * r.g)), "log_softmax"),
    Operator("row-summed-over-other-axes", "summed-wrong-axis",
             lambda at, axes: _in_two(Row.of(at), Row.of(at, axes=axes)),
             lambda at: at.x.dim() > 0 and at.name != "logsumexp", _other_axes, _there_and_here),
    Operator("upstream-only-in-sum", "missing-upstream", lambda at: _in_two(Row.of(at, at.ones), Row.of(at)),
             _is_given_upstream),
    Operator("value-for-upstream-in-sum", "value-for-gradient", lambda at: _in_two(Row.of(at), Row.of(at, at.y)),
             _is_given_upstream),
    Operator("value-for-upstream-but-in-sum", "value-for-gradient", lambda at: _in_two(Row.of(at, at.y), Row.of(at)),
             _is_given_upstream),
    Operator("upstream-as-target", "wrong-local", lambda at: at.y - at.g, _is_given_upstream),
    Operator("shares-without-upstream", "missing-upstream", lambda at: (row := Row.of(at)).own - row.p,
             _is_given_upstream),
)  # fmt: skip


def _norm(name: str, code: str, change: Callable[..., torch.Tensor], when: Callable[[Norm], bool] | None = None,
          each: Callable[[At], Iterator[Parameters]] | None = None) -> Operator:  # fmt: skip
    """Another formula for the way back through a norm, from the norm and the gradient that arrives."""

    def rule(trace: Trace, spot: Spot, **chosen: Any) -> Rules:
        rules: dict[Place, Rule] = {}
        for index in spot.steps(trace):
            if (norm := norm_at(trace, index)) is None:
                raise ValueError("this is no norm in this trial")
            known = {"trace": trace} if "where" in chosen else {}
            new = partial(change, norm, **known, **chosen)
            rules |= bypassed(trace, norm.source, index, lambda g, norm=norm, new=new: new(norm.arriving(g)))  # type: ignore[misc]
        return rules

    def fits(at: At) -> bool:
        norm = norm_at(at.trace, at.step.index)
        return norm is not None and (when is None or when(norm))

    def tell(at: At, **chosen: Any) -> Parameters:
        norm = norm_at(at.trace, at.step.index)
        assert norm is not None
        axes = chosen.get("axes", norm.axes) if max(chosen.get("axes", (0,))) < at.y.dim() else norm.axes
        told = {"partner": _partner_of(at, chosen["where"])} if "where" in chosen else {}
        return {"operand": at.named(norm.source), "axes": at.axes(at.y.shape[i] for i in axes), **told}

    return Operator(name, code, rule, fits, each or (lambda at: iter(({},))), tell, Kind.RULES)


def _later_factors(at: At) -> Iterator[Parameters]:
    """The products that take the normalised value, as it is or in another shape, or that are made before it."""
    norm = norm_at(at.trace, at.step.index)
    if norm is not None and norm.factor is not None:
        yield {"where": (norm.factor.step.line, norm.factor.position)}
    for index, where in at.trace.uses(at.step.key):
        step = at.trace.steps[index]
        if step.name == "mul" and len(step.operands) == 2:
            yield {"where": (step.line, where)}
        elif step.name in {"reshape", "view", "flatten"}:
            yield from _later_factors(At(at.trace, step))


def _partner_of(at: At, where: tuple[Line, Position]) -> str:
    """The factor, by the name that it had before it was brought into shape."""
    factor = _factor(at.trace, where)
    key = factor.key(factor.others[0])
    while key.startswith("%") and (step := at.trace.steps[int(key[1:])]).name in RESHAPES and step.operands:
        key = step.operands[0][1]
    return at.named(key)


def _factor(trace: Trace, where: tuple[Line, Position]) -> At:
    return At(trace, trace.steps[trace.turns[where[0]][-1]], where[1])


def _factor_last(norm: Norm, g: torch.Tensor, trace: Trace, where: tuple[Line, Position]) -> torch.Tensor:
    at = _factor(trace, where)
    factor = at.partner.expand(at.y.shape).reshape(g.shape)
    return factor * norm.right(g / factor)


def _factor_beside(norm: Norm, g: torch.Tensor, trace: Trace, where: tuple[Line, Position]) -> torch.Tensor:
    at = _factor(trace, where)
    bare = g / at.partner.expand(at.y.shape).reshape(g.shape)
    return norm.r * (g - bare) + norm.right(bare)


def _over_others(at: At) -> Iterator[Parameters]:
    norm = norm_at(at.trace, at.step.index)
    return ({"axes": axes} for axes in subsets(tuple(range(at.y.dim()))) if norm and axes != norm.axes)


def _scaled(norm: Norm, total: torch.Tensor, axes: Axes) -> torch.Tensor:
    """A sum over other axes, divided as a mean over these is, where it is one."""
    n, here = (math.prod(norm.h.shape[i] for i in which) for which in (norm.axes, axes))
    return total if norm.count == 1 else total * n / (here * norm.count)


def _over_parts(at: At) -> Iterator[Parameters]:
    norm = norm_at(at.trace, at.step.index)
    shape = norm.before if norm else ()
    return ({"axes": axes} for axes in subsets(tuple(range(len(shape)))) if shape != at.y.shape)


def _normed_before(norm: Norm, g: torch.Tensor, axes: Axes) -> torch.Tensor:
    """The means taken in the shape from which the operand was reshaped."""

    def mean(terms: torch.Tensor) -> torch.Tensor:
        return terms.reshape(norm.before).mean(axes, keepdim=True).expand(norm.before).reshape(terms.shape)

    return norm.r * (g - (mean(g) if norm.centred else 0) - norm.h * mean(g * norm.h))


NORMS = (
    _norm("norm-left-out", "missing-local", lambda d, g: g),
    _norm("centring-missing", "missing-path", lambda d, g: d.r * (g - d.h * d.share(g * d.h)), lambda d: d.centred),
    _norm("centred-too", "wrong-local", lambda d, g: d.right(g) - d.r * g.mean(d.axes, keepdim=True),
          lambda d: not d.centred),
    _norm("only-centred", "missing-path", lambda d, g: d.r * (g - d.mean(g)), lambda d: d.centred),
    _norm("norm-held-constant", "missing-path", lambda d, g: d.r * g),
    _norm("scale-of-norm-missing", "missing-local", lambda d, g: d.right(g) / d.r),
    _norm("scale-of-norm-twice", "extra-factor", lambda d, g: d.right(g) * d.r),
    _norm("scale-of-norm-upside-down", "wrong-local", lambda d, g: d.right(g) / d.r**2),
    _norm("sum-for-projection", "sum-for-mean", lambda d, g: d.r * (g - d.mean(g) - d.h * d.total(g * d.h)),
          lambda d: d.count > 1 and d.centred),
    _norm("normalised-missing-outside", "missing-local", lambda d, g: d.r * (g - d.mean(g) - d.share(g * d.h))),
    _norm("operand-outside", "wrong-operand", lambda d, g: d.r * (g - d.mean(g) - d.x * d.share(g * d.h))),
    _norm("operand-for-normalised", "wrong-operand", lambda d, g: d.r * (g - d.mean(g) - d.x * d.share(g * d.x))),
    _norm("not-normalised", "wrong-operand",
          lambda d, g: d.r * (g - d.mean(g) - d.h / d.r * d.share(g * d.h / d.r)), lambda d: d.centred),
    _norm("normed-over-other-axes", "summed-wrong-axis", lambda d, g, axes: d.r * (
          g - d.mean(g, axes) - d.h * _scaled(d, d.total(g * d.h, axes), axes)), each=_over_others),
    _norm("centred-over-other-axes", "summed-wrong-axis",
          lambda d, g, axes: d.right(g) + d.r * (d.mean(g) - d.mean(g, axes)), lambda d: d.centred, _over_others),
    _norm("means-in-shape-before", "summed-wrong-axis", _normed_before, each=_over_parts),
    _norm("centring-missing-in-normalised", "wrong-operand",
          lambda d, g: d.r * (g - d.mean(g) - d.x * d.r * d.share(g * d.x * d.r)), lambda d: d.centred),
    _norm("factor-behind-means", "wrong-local", _factor_last, each=_later_factors),
    _norm("factor-beside-means", "missing-local", _factor_beside, each=_later_factors),
)  # fmt: skip
