"""Slips in an operation along an axis: how much it hands to each entry, whom it picks, and which way it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .operator import AVERAGES, At, Operator, Parameters, along, axis_of

PICKS = {"max", "min", "amax", "amin"}


def _averages(at: At) -> bool:
    return at.step.name in AVERAGES


def _adds(at: At) -> bool:
    return not _averages(at)


def _has_axis(at: At) -> bool:
    return axis_of(at.step) is not None


def _several_left(at: At) -> bool:
    return at.y.numel() > 1


def _n(at: At, **_: Any) -> Parameters:
    return {"n": at.n}


def _at_place(place: int) -> Callable[[At], torch.Tensor]:
    def rule(at: At) -> torch.Tensor:
        gradient, alone = at.back(), torch.zeros_like(at.x)
        alone.select(_axis(at), place).copy_(gradient.select(_axis(at), place))
        return alone

    return rule


def _root(value: torch.Tensor) -> torch.Tensor:
    if not bool((value > 0).all()):
        raise ValueError("there is no root of this value")
    return value.sqrt()


COUNTS: dict[str, Callable[[At], int]] = {
    "all": lambda at: at.x.numel(),
    "left": lambda at: at.y.numel(),
    "first": lambda at: at.x.shape[0],
    "last": lambda at: at.x.shape[-1],
    "less-one": lambda at: max(at.n - 1, 1),
}


def _counts(at: At) -> Iterator[Parameters]:
    for name in COUNTS:
        if (name == "less-one" and _averages(at)) or (name != "less-one" and _several_left(at)):
            yield {"count": name}


def _counted(at: At, count: str) -> Parameters:
    return {"count": count, "size": COUNTS[count](at), "n": at.n}


REDUCING = (
    Operator("mean-not-divided", "sum-for-mean", lambda at: at.back() * at.n, _averages, tell=_n),
    Operator("mean-divided-twice", "extra-factor", lambda at: at.back() / at.n, _averages, tell=_n),
    Operator("sum-divided", "mean-for-sum", lambda at: at.back() / at.n, _adds, tell=_n),
    Operator("only-first-reduced", "partial-batch", _at_place(0), _has_axis),
    Operator("only-last-reduced", "partial-batch", _at_place(-1), _has_axis),
    Operator("terms-squared", "wrong-local", lambda at: at.back() * 2 * at.x),
    Operator("root-of-reduction", "wrong-local", lambda at: at.back(at.g / (2 * _root(at.y)))),
    Operator("divided-by-another-count", "wrong-factor",
             lambda at, count: at.back() * at.n / COUNTS[count](at), _averages, _counts, _counted),
    Operator("sum-divided-by-a-count", "mean-for-sum", lambda at, count: at.back() / COUNTS[count](at),
             lambda at: _adds(at) and _several_left(at), _counts, _counted),
)  # fmt: skip


def is_picking(at: At) -> bool:
    return len(at.step.operands) == 1 and at.step.name in PICKS


def _picked(at: At) -> torch.Tensor:
    """1 where an entry was picked, 0 elsewhere; shape: that of the operand."""
    return at.back(torch.ones_like(at.y))


def _spread(at: At) -> torch.Tensor:
    """The upstream gradient at every entry that took part; shape: that of the operand."""
    axis = axis_of(at.step)
    return (at.g if axis is None or at.g.dim() == at.x.dim() else at.g.unsqueeze(axis)).expand(at.x.shape)


def _is_max(at: At) -> bool:
    return "max" in at.step.name


def _extreme(at: At) -> torch.Tensor:
    """1 at the largest (or smallest) of all entries, 0 elsewhere."""
    return (at.x == (at.x.max() if _is_max(at) else at.x.min())).to(at.x.dtype)


def _masked(name: str, code: str, mask: Callable[..., torch.Tensor], **more: Any) -> Operator:
    return Operator(name, code, lambda at, **chosen: _spread(at) * mask(at, **chosen), **more)


def _operand_axes(at: At) -> Iterator[Parameters]:
    yield from ({"axis": axis} for axis in range(at.x.dim()))


def _ends(at: At) -> Parameters:
    return {"found": "smallest", "wanted": "largest"} if _is_max(at) else {"found": "largest", "wanted": "smallest"}


def _beside(shift: int) -> Callable[[At], torch.Tensor]:
    return lambda at: _picked(at).roll(shift, _axis(at))


PICKING = (
    _masked("picked-mask-missing", "missing-local", lambda at: torch.ones_like(at.x)),
    _masked("picked-mask-inverted", "inverted-mask", lambda at: 1 - _picked(at)),
    _masked("pick-as-mean", "wrong-local", lambda at: torch.full_like(at.x, 1 / at.n), tell=_n),
    _masked("values-for-mask", "wrong-local", lambda at: at.x),
    _masked("other-end-picked", "wrong-local",
            lambda at: at.back(torch.ones_like(at.y), {at.where: -at.x}), tell=_ends),
    _masked("picked-along-another-axis", "summed-wrong-axis",
            lambda at, axis: _picked(At(at.trace, along(at.step, axis), at.position)), each=_operand_axes,
            tell=lambda at, axis: {"axis": axis}),
    _masked("picked-of-all", "summed-wrong-axis", _extreme),
    _masked("picked-beside", "wrong-operand", _beside(1), when=_has_axis),
    _masked("picked-beside", "wrong-operand", _beside(-1), when=_has_axis),
)  # fmt: skip


def is_running(at: At) -> bool:
    """It mixes the entries along an axis and keeps the shape, as `cumsum` does."""
    return len(at.step.operands) == 1 and at.y.shape == at.x.shape


def _axis(at: At) -> int:
    axis = axis_of(at.step)
    if axis is None:
        raise ValueError("the operation has no axis")
    return axis


def _differences(backwards: bool) -> Callable[[At], torch.Tensor]:
    """Each upstream gradient less that of its neighbour: the one before it, or the one behind."""

    def rule(at: At) -> torch.Tensor:
        g = at.g.flip(_axis(at)) if backwards else at.g
        found = g.diff(dim=_axis(at), prepend=torch.zeros_like(g.narrow(_axis(at), 0, 1)))
        return found.flip(_axis(at)) if backwards else found

    return rule


def _diagonal(at: At) -> torch.Tensor:
    """How each entry of the value reacts to the operand's entry in the same place; shape: that of both."""
    axis, diagonal = _axis(at), torch.zeros_like(at.y)
    for i in range(at.y.shape[axis]):
        here = torch.zeros_like(at.y)
        here.select(axis, i).fill_(1)
        diagonal += here * at.back(here)
    return diagonal


def _excluding_itself(at: At) -> torch.Tensor:
    return at.back() - at.g


def _is_cumsum(at: At) -> bool:
    return at.step.name == "cumsum"


RUNNING = (
    Operator("operation-ignored", "missing-local", lambda at: at.g),
    Operator("operation-of-gradient", "wrong-local", lambda at: at.step.apply({at.where: at.g})),
    Operator("value-for-derivative", "wrong-local", lambda at: at.g * at.y),
    Operator("times-operation-of-ones", "wrong-local", lambda at: at.g * at.back(torch.ones_like(at.g))),
    Operator("only-own-output", "diagonal-only", lambda at: at.g * _diagonal(at), _has_axis),
    Operator("own-output-missing", "missing-path", lambda at: at.back() - at.g * _diagonal(at), _has_axis),
    Operator("result-turned-round", "wrong-local", lambda at: at.back().flip(_axis(at)), _has_axis),
    Operator("upstream-turned-round", "wrong-local", lambda at: at.back(at.g.flip(_axis(at))), _has_axis),
    Operator("sum-over-whole-axis", "wrong-local",
             lambda at: at.g.sum(_axis(at), keepdim=True).expand_as(at.g), _has_axis),
    Operator("runs-along-another-axis", "summed-wrong-axis",
             lambda at, axis: At(at.trace, along(at.step, axis), at.position, at.g).back(), _has_axis, _operand_axes,
             lambda at, axis: {"axis": axis}),
    Operator("differences-of-neighbours", "inverse-for-transpose", _differences(False), _is_cumsum),
    Operator("differences-of-neighbours", "inverse-for-transpose", _differences(True), _is_cumsum),
    Operator("own-place-left-out", "missing-path", _excluding_itself, _is_cumsum),
)  # fmt: skip


def _sum_from(at: At, terms: torch.Tensor, *, reverse: bool = True) -> torch.Tensor:
    """Running sums along the axis, from its end."""
    axis = _axis(at)
    return terms.flip(axis).cumsum(axis).flip(axis) if reverse else terms.cumsum(axis)


def _closed(name: str, code: str, function: str, rule: Callable[[At], torch.Tensor]) -> Operator:
    """A slip in the closed form: of cumprod sum(g y) / x, of logcumsumexp exp(x) sum(g exp(-y)), both from the end."""
    return Operator(name, code, rule, lambda at: at.step.name == function)


CLOSED_FORMS = (
    _closed("sum-not-reversed", "wrong-local", "cumprod", lambda at: _sum_from(at, at.g * at.y, reverse=False) / at.x),
    _closed("summed-before-multiplied", "sum-of-products", "cumprod", lambda at: _sum_from(at, at.g) * at.y / at.x),
    _closed("divided-by-output", "wrong-operand", "cumprod", lambda at: _sum_from(at, at.g * at.y) / at.y),
    _closed("output-missing", "missing-local", "cumprod", lambda at: _sum_from(at, at.g) / at.x),
    _closed("not-divided-by-operand", "missing-local", "cumprod", lambda at: _sum_from(at, at.g * at.y)),
    _closed("sum-not-reversed", "wrong-local", "logcumsumexp",
            lambda at: at.x.exp() * _sum_from(at, at.g * (-at.y).exp(), reverse=False)),
    _closed("summed-before-multiplied", "sum-of-products", "logcumsumexp",
            lambda at: (at.x - at.y).exp() * _sum_from(at, at.g)),
    _closed("not-divided-by-running-sum", "missing-local", "logcumsumexp", lambda at: at.x.exp() * _sum_from(at, at.g)),
    _closed("exponential-of-operand-missing", "missing-local", "logcumsumexp",
            lambda at: _sum_from(at, at.g * (-at.y).exp())),
    _closed("share-of-whole-row", "wrong-local", "logcumsumexp",
            lambda at: at.x.softmax(_axis(at)) * _sum_from(at, at.g)),
    _closed("share-of-whole-row", "wrong-local", "logcumsumexp",
            lambda at: at.x.softmax(_axis(at)) * at.g.sum(_axis(at), keepdim=True)),
    _closed("own-share-only", "diagonal-only", "logcumsumexp", lambda at: at.g * (at.x - at.y).exp()),
)  # fmt: skip
