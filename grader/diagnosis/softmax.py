"""Slips in softmax, log-softmax and logsumexp: the shares of a row, and the sum that its entries have in common.

With shares p = exp(x) / sum of exp(x) along an axis, and g upstream, the three rules are
softmax p (g - sum of p g), log-softmax g - p (sum of g), logsumexp p g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .contraction import Axes, subsets
from .operator import At, Operator, Parameters

Shares = Callable[[torch.Tensor, Axes], torch.Tensor]
Mixed = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Axes], torch.Tensor]


def _axes(at: At) -> Axes:
    """The axes that the shares add up to 1 over, counted from the front."""
    dim = at.step.kwargs.get("dim", at.step.args[1] if len(at.step.args) > 1 else None)
    return tuple(sorted(axis % at.x.dim() for axis in (dim if isinstance(dim, (tuple, list)) else (dim,))))


def _softmax(x: torch.Tensor, axes: Axes) -> torch.Tensor:
    return (x - x.logsumexp(axes, keepdim=True)).exp()


def _over_total(x: torch.Tensor, axes: Axes) -> torch.Tensor:
    return x / x.logsumexp(axes, keepdim=True).exp()


def _total(terms: torch.Tensor, axes: Axes) -> torch.Tensor:
    return terms.sum(axes, keepdim=True)


def _applied(at: At, shares: torch.Tensor, axes: Axes) -> torch.Tensor:
    """The step's rule with these shares, and with the sums over these axes."""
    if at.step.name == "logsumexp":
        kept = [1 if i in _axes(at) else size for i, size in enumerate(at.x.shape)]
        return shares * at.g.reshape(kept)
    if at.step.name == "softmax":
        return shares * (at.g - (shares * at.g).sum(axes, keepdim=True))
    return at.g - shares * at.g.sum(axes, keepdim=True)


def _parts(at: At, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The shares, an entry's own part, and the terms that its row sums."""
    p = _softmax(at.x, _axes(at))
    return (p, p * g, p * g) if at.step.name == "softmax" else (p, g, g)


def _has_axes(at: At) -> bool:
    return at.x.dim() > 0


def _of(*names: str) -> Callable[[At], bool]:
    return lambda at: _has_axes(at) and at.step.name in names


MIXES = ("softmax", "log_softmax")


def _operand(at: At, **_: Any) -> Parameters:
    return {"operand": at.named(at.source)}


def _shares(name: str, code: str, shares: Shares) -> Operator:
    def rule(at: At) -> torch.Tensor:
        return _applied(at, shares(at.x, _axes(at)), _axes(at))

    return Operator(name, code, rule, _has_axes, tell=_operand)


def _mixed(name: str, code: str, mixed: Mixed, when: Callable[[At], bool] = _of(*MIXES)) -> Operator:
    """From upstream g, shares p, an entry's own part, and the terms that the row sums: own - p * sum(terms) is right."""

    def rule(at: At) -> torch.Tensor:
        p, own, terms = _parts(at, at.g)
        return mixed(at.g, p, own, terms, _axes(at))

    return Operator(name, code, rule, when)


def _other_axes(at: At) -> Iterator[Parameters]:
    yield from ({"axes": axes} for axes in subsets(tuple(range(at.x.dim()))) if axes != _axes(at))


def _there_and_here(at: At, axes: Axes) -> Parameters:
    there, here = (at.axes(at.x.shape[i] for i in which) for which in (axes, _axes(at)))
    return {"there": there, "here": here}


def _summed_over(at: At, axes: Axes) -> torch.Tensor:
    p, own, terms = _parts(at, at.g)
    return own - p * _total(terms, axes)


def _instead(other: Callable[[At], torch.Tensor], *, in_sum: bool) -> Callable[[At], torch.Tensor]:
    """Another array in place of upstream, in the row's sum or in each entry's own part."""

    def rule(at: At) -> torch.Tensor:
        p, own, terms = _parts(at, at.g)
        _, other_own, other_terms = _parts(at, other(at))
        return own - p * _total(other_terms, _axes(at)) if in_sum else other_own - p * _total(terms, _axes(at))

    return rule


def _is_given_upstream(at: At) -> bool:
    return _of(*MIXES)(at) and at.given and at.is_last


def _ones(at: At) -> torch.Tensor:
    return torch.ones_like(at.y)


def _value(at: At) -> torch.Tensor:
    return at.y


SOFTMAX = (
    _shares("exponentials-not-divided", "missing-local", lambda x, axes: x.exp()),
    _shares("exponential-missing", "missing-local", lambda x, axes: _over_total(x, axes) / x),
    _shares("shares-missing", "missing-local", lambda x, axes: torch.ones_like(x)),
    _shares("operand-for-shares", "wrong-point", lambda x, axes: x),
    _shares("logarithms-for-shares", "wrong-point", lambda x, axes: x - x.logsumexp(axes, keepdim=True)),
    _shares("divided-by-logsumexp", "wrong-point", lambda x, axes: x.exp() / x.logsumexp(axes, keepdim=True)),
    _shares("values-over-exponentials", "wrong-point", _over_total),
    _shares("values-over-sum", "missing-local", lambda x, axes: x / x.sum(axes, keepdim=True)),
    _shares("softmax-twice", "wrong-point", lambda x, axes: _softmax(_softmax(x, axes), axes)),
    _shares("sigmoid-for-softmax", "wrong-local", lambda x, axes: x.sigmoid()),
    _shares("shares-upside-down", "wrong-local", lambda x, axes: 1 / _softmax(x, axes)),
    _shares("values-negated-in-shares", "wrong-sign", lambda x, axes: _softmax(-x, axes)),
    _shares("one-subtracted-from-shares", "wrong-local", lambda x, axes: _softmax(x, axes) - 1),
    _shares("total-for-shares", "wrong-local",
            lambda x, axes: x.logsumexp(axes, keepdim=True).exp().expand(x.shape)),
    _shares("equal-shares", "wrong-local",
            lambda x, axes: torch.ones_like(x) / math.prod(x.shape[axis] for axis in axes)),
    _shares("derivative-of-share-for-share", "wrong-local",
            lambda x, axes: _softmax(x, axes) * (1 - _softmax(x, axes))),
    _shares("largest-takes-all", "wrong-local", lambda x, axes: (x == x.amax(axes, keepdim=True)).to(x.dtype)),
    Operator("shares-over-other-axes", "summed-wrong-axis",
             lambda at, axes: _applied(at, _softmax(at.x, axes), axes), _has_axes, _other_axes, _there_and_here),
    _mixed("only-own-part", "missing-path", lambda g, p, own, terms, axes: own),
    _mixed("only-row-sum", "missing-path", lambda g, p, own, terms, axes: -p * _total(terms, axes)),
    _mixed("row-sum-added", "wrong-sign", lambda g, p, own, terms, axes: own + p * _total(terms, axes)),
    _mixed("row-mean-for-sum", "mean-for-sum",
           lambda g, p, own, terms, axes: own - p * terms.mean(axes, keepdim=True)),
    _mixed("only-diagonal-of-softmax", "diagonal-only", lambda g, p, own, terms, axes: own - p * terms),
    _mixed("own-effect-missing", "missing-path", lambda g, p, own, terms, axes: -p * (_total(terms, axes) - terms)),
    _mixed("effect-on-others-negated", "wrong-sign",
           lambda g, p, own, terms, axes: own + p * (_total(terms, axes) - 2 * terms)),
    _mixed("row-sum-without-shares", "missing-local", lambda g, p, own, terms, axes: own - _total(terms, axes)),
    _mixed("terms-without-shares", "missing-local", lambda g, p, own, terms, axes: own - p * _total(g, axes),
           _of("softmax")),
    _mixed("terms-averaged-evenly", "missing-local",
           lambda g, p, own, terms, axes: own - p * g.mean(axes, keepdim=True), _of("softmax")),
    _mixed("share-in-front-missing", "missing-local", lambda g, p, own, terms, axes: g - _total(terms, axes),
           _of("softmax")),
    _mixed("own-share-for-others", "wrong-operand", lambda g, p, own, terms, axes: own - p * p * _total(g, axes),
           _of("softmax")),
    _mixed("share-of-summed-gradient", "missing-path", lambda g, p, own, terms, axes: p * _total(g, axes),
           _of("softmax")),
    _mixed("own-part-without-share", "missing-local", lambda g, p, own, terms, axes: g - p * _total(terms, axes),
           _of("softmax")),
    _mixed("log-softmax-for-softmax", "wrong-local", lambda g, p, own, terms, axes: g - p * _total(g, axes),
           _of("softmax")),
    _mixed("shares-squared", "wrong-local", lambda g, p, own, terms, axes: p * own - p * _total(p * own, axes),
           _of("softmax")),
    _mixed("terms-weighted", "extra-factor", lambda g, p, own, terms, axes: own - p * _total(p * g, axes),
           _of("log_softmax")),
    _mixed("shares-inside-the-sum", "wrong-local", lambda g, p, own, terms, axes: own - _total(p * g, axes),
           _of("log_softmax")),
    _mixed("row-sum-for-own-gradient", "wrong-local",
           lambda g, p, own, terms, axes: _total(g, axes) - p * _total(g, axes), _of("log_softmax")),
    _mixed("only-logarithm-differentiated", "missing-local", lambda g, p, own, terms, axes: g / p,
           _of("log_softmax")),
    _mixed("softmax-for-log-softmax", "wrong-local",
           lambda g, p, own, terms, axes: p * (g - _total(p * g, axes)), _of("log_softmax")),
    Operator("row-summed-over-other-axes", "summed-wrong-axis", _summed_over, _of(*MIXES), _other_axes,
             _there_and_here),
    Operator("upstream-missing-in-sum", "missing-upstream", _instead(_ones, in_sum=True), _is_given_upstream),
    Operator("upstream-only-in-sum", "missing-upstream", _instead(_ones, in_sum=False), _is_given_upstream),
    Operator("value-for-upstream-in-sum", "value-for-gradient", _instead(_value, in_sum=True), _is_given_upstream),
    Operator("value-for-upstream-but-in-sum", "value-for-gradient", _instead(_value, in_sum=False),
             _is_given_upstream),
    Operator("upstream-as-target", "wrong-local", lambda at: at.y - at.g, _is_given_upstream),
    Operator("shares-without-upstream", "missing-upstream",
             lambda at: _parts(at, at.g)[1] - _parts(at, at.g)[0], _is_given_upstream),
)  # fmt: skip
