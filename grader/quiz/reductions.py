"""What goes along axes: sums, means, extremes, norms, running sums, softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .entrywise_operations import ENTRYWISE
from .formula_work import Work, whole, wholes


class Extremes(NamedTuple):
    """What `x.max(1)` gives."""

    values: Any
    indices: Any


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    """With torch's way to name axes: one, several, a list of them, or none for all."""

    def step(work: Work, a: Any, *axes: Any, dim: Any = None, keepdim: Any = False, **options: Any) -> Any:
        a = work.array(a)
        work.spend(a.size)
        if not a.size:
            raise ValueError("an array without entries: numpy warns of its mean")
        chosen: list[Any] = [*axes] if dim is None else [*axes, dim]
        keep = bool(keepdim)
        if len(chosen) == 2 and isinstance(chosen[1], bool):
            keep = chosen.pop()
        along = None if not chosen or chosen == [None] else wholes(chosen)
        return function(a, axis=along or None, keepdims=keep, **options)

    return step


def _var(
    a: np.ndarray, *, axis: Any, keepdims: bool, correction: Any = 1.0, unbiased: Any = None, ddof: Any = None
) -> Any:
    less = whole(unbiased) if unbiased is not None else whole(correction if ddof is None else ddof)
    squares = np.sum((a - np.mean(a, axis=axis, keepdims=True)) ** 2, axis=axis, keepdims=keepdims)
    return squares / (a.size / max(squares.size, 1) - less)


def _biased(a: np.ndarray, *, ddof: Any = 0.0, **options: Any) -> Any:
    return _var(a, ddof=ddof, **options)


def _norm(a: np.ndarray, *, axis: Any, keepdims: bool, p: Any = 2.0, ord: Any = None) -> Any:
    power = float(p if ord is None else ord)
    return np.sum(np.abs(a) ** power, axis=axis, keepdims=keepdims) ** (1 / power)


def _logsumexp(a: np.ndarray, *, axis: Any, keepdims: bool) -> Any:
    top = np.max(a)
    return np.log(np.sum(np.exp(a - top), axis=axis, keepdims=keepdims)) + top


def _extreme(reduce: Callable[..., Any], place: Callable[..., Any], pair: str) -> Callable[..., Any]:
    """Of all entries; along one axis, with the places; or of two arrays, entry by entry."""

    def step(work: Work, a: Any, *others: Any, dim: Any = None, keepdim: Any = False) -> Any:
        if others and (
            np.ndim(work.array(others[0])) or not float(others[0]).is_integer() or np.ndim(work.array(a)) == 0
        ):
            for other in others:
                a = ENTRYWISE[pair](work, a, other)
            return a
        axis = dim if dim is not None else others[0] if others else None
        values = _reduced(reduce)(work, a, *(() if axis is None else (axis,)), keepdim=keepdim)
        return values if axis is None else Extremes(values, place(work.array(a), axis=whole(axis)))

    return step


def _numpys_extreme(reduce: Callable[..., Any], of_python: Callable[..., Any]) -> Callable[..., Any]:
    """numpy's keeps no places."""

    def step(work: Work, a: Any, *others: Any, dim: Any = None, keepdim: Any = False) -> Any:
        if dim is not None:
            return _reduced(reduce)(work, a, dim=dim, keepdim=keepdim)
        return of_python(work, a, *others)

    return step


def _pythons_sum(work: Work, items: Any, *axes: Any, **options: Any) -> Any:
    """Python's adds up rows; with an axis, torch's or numpy's is meant."""
    if options or (axes and not isinstance(items, tuple)):
        return REDUCTIONS["sum"](work, items, *axes, **options)
    total: Any = axes[0] if axes else 0.0
    if np.ndim(items) == 0 and not isinstance(items, tuple):
        return items
    for item in work.turns(items):
        total = ENTRYWISE["+"](work, total, item)
    return total


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    def step(work: Work, a: Any, axis: Any = None, *, dim: Any = None) -> Any:
        a = work.array(a)
        work.spend(a.size)
        chosen = axis if dim is None else dim
        return function(a, axis=None if chosen is None else whole(chosen))

    return step


def _shares(of_shares: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """Softmax and its logarithm; along the last axis where none is named."""

    def step(work: Work, a: Any, axis: Any = -1.0, *, dim: Any = None) -> Any:
        a, along = work.array(a), whole(axis if dim is None else dim)
        work.spend(4 * a.size)
        raised = a - np.max(a, axis=along, keepdims=True)
        return of_shares(raised - np.log(np.sum(np.exp(raised), axis=along, keepdims=True)))

    return step


def _normalize(work: Work, a: Any, p: Any = 2.0, dim: Any = 1.0) -> Any:
    return work.array(a) / REDUCTIONS["norm"](work, a, p=p, dim=dim, keepdim=True)


_max, _min = _extreme(np.max, np.argmax, "maximum"), _extreme(np.min, np.argmin, "minimum")
_OF_AXES: Mapping[str, Callable[..., Any]] = {
    "sum nansum": np.sum, "mean average nanmean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min,
    "median": np.median, "var": _var, "std": lambda a, **options: np.sqrt(_var(a, **options)), "np.var": _biased,
    "np.std": lambda a, **options: np.sqrt(_biased(a, **options)), "norm": _norm, "logsumexp": _logsumexp,
    "any": np.any, "all": np.all, "count_nonzero": lambda a, **options: np.sum(a != 0, **options),
}  # fmt: skip
REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: _reduced(function) for names, function in _OF_AXES.items() for name in names.split()},
    "python.sum": _pythons_sum,
    "add.reduce": lambda work, a, dim=0.0, **options: REDUCTIONS["sum"](work, a, dim=dim, **options),
    "max": _max, "min": _min, "np.max": _numpys_extreme(np.max, _max),
    "np.min": _numpys_extreme(np.min, _min), "argmax": _running(np.argmax), "argmin": _running(np.argmin),
    "cumsum": _running(np.cumsum), "cumprod": _running(np.cumprod), "softmax": _shares(np.exp),
    "log_softmax": _shares(lambda a: a), "softmin": lambda work, a, *axis, **options: REDUCTIONS["softmax"](
        work, -work.array(a), *axis, **options), "normalize": _normalize,
    ".values": lambda work, pair: pair.values, ".indices": lambda work, pair: pair.indices,
}  # fmt: skip
