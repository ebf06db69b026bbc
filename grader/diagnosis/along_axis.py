"""Slips in an operation along an axis: how much it hands to each entry, whom it picks, and which way it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from grader.reference.operand_view import At
from grader.reference.operations import AVERAGES, along, axis_of, sole_axis

from .contraction import subsets
from .operator import Operator, Parameters, as_chosen

PICKS = {"max", "min", "amax", "amin"}
COUNTS: dict[str, Callable[[At], int]] = {
    "all": lambda at: at.x.numel(), "left": lambda at: at.y.numel(),
    "first": lambda at: at.x.shape[0], "last": lambda at: at.x.shape[-1],
    "less-one": lambda at: max(at.n - 1, 1),
}  # fmt: skip


def _has_axis(at: At) -> bool:
    return axis_of(at.step) is not None


def averages(at: At) -> bool:
    return at.name in AVERAGES


def _reduced(at: At) -> tuple[int, ...]:
    """The axes that it runs over."""
    axes = at.step.kwargs.get("dim", at.step.kwargs.get("axis", at.step.args[1] if len(at.step.args) > 1 else None))
    several = range(at.x.dim()) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple(axis % at.x.dim() for axis in several)


def _only_first(at: At, some: tuple[int, ...]) -> torch.Tensor:
    """The contribution at the first place of some of the axes that it runs over; at the others there is none."""
    axes = [_reduced(at)[i] for i in some]
    kept = tuple(0 if axis in axes else slice(None) for axis in range(at.x.dim()))
    found, part = torch.zeros_like(at.x), at.back()
    found[kept] = part[kept]
    return found


def _axes_told(at: At, some: tuple[int, ...]) -> Parameters:
    """The axes, without a name that several of the operand's may have."""
    named = at.axes(at.x.shape)
    names = [name for name, _ in named]
    return {"axes": [[names[i] if names.count(names[i]) == 1 else "", named[i][1]]
                     for i in (_reduced(at)[k] for k in some)]}  # fmt: skip


REDUCING = (
    Operator("mean-not-divided", "sum-for-mean", lambda at: at.back() * at.n, averages, tell=lambda at: {"n": at.n}),
    Operator("mean-divided-twice", "extra-factor", lambda at: at.back() / at.n, averages, tell=lambda at: {"n": at.n}),
    Operator("sum-divided", "mean-for-sum", lambda at: at.back() / at.n, lambda at: not averages(at),
             tell=lambda at: {"n": at.n}),
    Operator("only-first-reduced", "partial-batch", _only_first, tell=_axes_told,
             each=lambda at: ({"some": some} for some in subsets(tuple(range(len(_reduced(at))))))),
    Operator("terms-squared", "wrong-local", lambda at: at.back() * 2 * at.x),
    Operator("root-of-reduction", "wrong-local", lambda at: at.back(at.g / (2 * at.y.sqrt()))),
    Operator("divided-by-another-count", "wrong-factor", lambda at, count: at.back() * at.n / COUNTS[count](at),
             averages, lambda at: ({"count": count} for count in COUNTS if count == "less-one" or at.y.numel() > 1),
             lambda at, count: {"count": count, "size": COUNTS[count](at), "n": at.n}),
)  # fmt: skip


NORM_NAMES = {"norm", "vector_norm", "linalg_norm", "linalg_vector_norm", "matrix_norm"}
OF_NORM = (
    Operator("norm-not-divided", "missing-local", lambda at: at.back(at.g * at.y)),
    Operator("derivative-missing", "missing-local", lambda at: _wide(at)),
)


def _wide(at: At) -> torch.Tensor:
    """The upstream gradient at every entry that took part."""
    kept = [1 if axis in _reduced(at) else size for axis, size in enumerate(at.x.shape)]
    return at.g.reshape(kept).expand(at.x.shape)


def is_picking(at: At) -> bool:
    return not at.others and at.name in PICKS


def _picked(at: At) -> torch.Tensor:
    """1 where an entry was picked, 0 elsewhere; shape: that of the operand."""
    return at.back(at.ones)


def _masked(name: str, code: str, mask: Callable[..., torch.Tensor], **more: Any) -> Operator:
    """The upstream gradient at every entry that took part, times a mask of them."""

    def rule(at: At, **chosen: Any) -> torch.Tensor:
        return _wide(at) * mask(at, **chosen)

    return Operator(name, code, rule, **more)


PICKING = (
    _masked("picked-mask-missing", "missing-local", lambda at: torch.ones_like(at.x)),
    _masked("picked-mask-inverted", "inverted-mask", lambda at: 1 - _picked(at)),
    _masked("pick-as-mean", "wrong-local", lambda at: torch.full_like(at.x, 1 / at.n), tell=lambda at: {"n": at.n}),
    _masked("other-end-picked", "wrong-local", lambda at: at.back(at.ones, {at.where: -at.x}),
            tell=lambda at: {"found": "smallest" if "max" in at.name else "largest",
                             "wanted": "largest" if "max" in at.name else "smallest"}),
    _masked("picked-along-another-axis", "summed-wrong-axis",
            lambda at, axis: _picked(At(at.trace, along(at.step, axis), at.position)),
            each=lambda at: ({"axis": axis} for axis in range(at.x.dim())), tell=as_chosen),
    _masked("picked-of-all", "summed-wrong-axis",
            lambda at: (at.x == (at.x.max() if "max" in at.name else at.x.min())).to(at.x.dtype)),
)  # fmt: skip


def is_running(at: At) -> bool:
    """It mixes the entries along an axis and keeps the shape, as `cumsum` does."""
    return not at.others and at.y.shape == at.x.shape


def _diagonal(at: At) -> torch.Tensor:
    """How each entry of the value reacts to the operand's entry in the same place; shape: that of both."""
    axis, diagonal = sole_axis(at.step), torch.zeros_like(at.y)
    for i in range(at.y.shape[axis]):
        here = torch.zeros_like(at.y)
        here.select(axis, i).fill_(1)
        diagonal += here * at.back(here)
    return diagonal


RUNNING = (
    Operator("operation-ignored", "missing-local", lambda at: at.g),
    Operator("function-of-gradient", "wrong-local", lambda at: at.step.apply({at.where: at.g}), _has_axis),
    Operator("value-for-derivative", "wrong-local", lambda at: at.g * at.y),
    Operator("times-operation-of-ones", "wrong-local", lambda at: at.g * at.back(torch.ones_like(at.g))),
    Operator("only-own-output", "diagonal-only", lambda at: at.g * _diagonal(at), _has_axis),
    Operator("own-output-missing", "missing-path", lambda at: at.back() - at.g * _diagonal(at), _has_axis),
    Operator("result-turned-round", "wrong-local", lambda at: at.back().flip(sole_axis(at.step)), _has_axis),
    Operator("upstream-turned-round", "wrong-local", lambda at: at.back(at.g.flip(sole_axis(at.step))), _has_axis),
    Operator("sum-over-whole-axis", "wrong-local",
             lambda at: at.g.sum(sole_axis(at.step), keepdim=True).expand_as(at.g), _has_axis),
)  # fmt: skip
