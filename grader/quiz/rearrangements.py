"""What moves, picks, stacks, copies and makes entries, and what asks for shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .contractions import contraction
from .formula_work import Work, whole, wholes


def _transpose(work: Work, a: Any, *axes: Any, dim0: Any = None, dim1: Any = None) -> Any:
    """torch's exchanges two axes; numpy's takes all of them in their new order."""
    chosen = wholes(axes) if dim0 is None else (whole(dim0), whole(dim1))
    a = work.array(a)
    if not chosen:
        return a.T
    return np.swapaxes(a, *chosen) if len(chosen) == 2 else np.transpose(a, chosen)


def _last_two(work: Work, a: Any) -> Any:
    a = work.array(a)
    return np.swapaxes(a, -1, -2) if a.ndim > 1 else a


def _permute(work: Work, a: Any, *axes: Any, dims: Any = None) -> Any:
    return np.transpose(work.array(a), wholes(axes if dims is None else (dims,)))


def _moveaxis(work: Work, a: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(work.array(a), *(wholes((axes,)) for axes in (source, destination)))


def _reshape(work: Work, a: Any, *sizes: Any) -> Any:
    return work.array(a).reshape(wholes(sizes))


def _flatten(
    work: Work, a: Any, start: Any = 0.0, end: Any = -1.0, *, start_dim: Any = None, end_dim: Any = None
) -> Any:
    a = work.array(a)
    first = whole(start if start_dim is None else start_dim) % max(a.ndim, 1)
    last = whole(end if end_dim is None else end_dim) % max(a.ndim, 1)
    return a.reshape(*a.shape[:first], -1, *a.shape[last + 1 :])


def _squeeze(work: Work, a: Any, *axes: Any, dim: Any = None) -> Any:
    a = work.array(a)
    chosen = wholes(axes if dim is None else (dim,))
    ones = tuple(axis for axis in chosen if a.shape[axis] == 1)  # torch leaves the others alone
    return np.squeeze(a, ones) if chosen else np.squeeze(a)


def _unsqueeze(work: Work, a: Any, axis: Any = None, *, dim: Any = None) -> Any:
    a = work.array(a)
    work.room((*a.shape, 1))
    return np.expand_dims(a, wholes((axis if dim is None else dim,)))


def _expand(work: Work, a: Any, *sizes: Any) -> Any:
    a, shape = work.array(a), list(wholes(sizes))
    for place in range(1, min(a.ndim, len(shape)) + 1):
        shape[-place] = a.shape[-place] if shape[-place] == -1 else shape[-place]
    work.room(shape)
    return np.broadcast_to(a, shape)


def _repeat(work: Work, a: Any, *times: Any, dims: Any = None) -> Any:
    """torch's repeat is numpy's tile."""
    a, counts = work.array(a), wholes(times if dims is None else (dims,))
    work.room((*([1] * len(counts)), a.size * math.prod(max(count, 1) for count in counts)))
    return np.tile(a, counts)


def _repeat_entries(work: Work, a: Any, repeats: Any, axis: Any = None, *, dim: Any = None) -> Any:
    a, count, along = work.array(a), whole(repeats), axis if dim is None else dim
    work.room((a.size, max(count, 0)))
    return np.repeat(a, count, None if along is None else whole(along))


def _flip(work: Work, a: Any, *axes: Any, dims: Any = None) -> Any:
    chosen = wholes(axes if dims is None else (dims,))
    return np.flip(work.array(a), chosen or None)


def _stacked(join: Callable[..., Any]) -> Callable[..., Any]:
    def step(work: Work, arrays: Any, axis: Any = 0.0, *, dim: Any = None) -> Any:
        parts = [work.array(part) for part in work.turns(arrays)]
        work.room((sum(part.size for part in parts),))
        return join(parts, axis=whole(axis if dim is None else dim))

    return step


def _rows(join: Callable[..., Any]) -> Callable[..., Any]:
    return lambda work, arrays: _stacked(lambda parts, axis: join(parts))(work, arrays)


def _index(work: Work, a: Any, parts: tuple[Any, ...]) -> Any:
    if isinstance(a, tuple):
        return a[parts[0] if isinstance(parts[0], slice) else whole(*parts)]
    a = work.array(a)
    work.room(
        (*a.shape, *[1] * parts.count(None)) if all(np.ndim(part) == 0 for part in parts if part is not None) else (1,)
    )
    return a[tuple(_index_part(work, part, a.size) for part in parts)]


def _index_part(work: Work, part: Any, size: int) -> Any:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, np.ndarray) and part.dtype == bool:
        return part
    array = work.array(part)
    work.room((max(array.size, 1), size if array.ndim else 1))
    if not np.equal(np.mod(array, 1), 0).all():
        raise TypeError("no places")
    return array.astype(int) if array.ndim else whole(part)


def _diag(work: Work, a: Any, offset: Any = 0.0, *, diagonal: Any = None) -> Any:
    a, beside = work.array(a), whole(offset if diagonal is None else diagonal)
    side = a.size + abs(beside)
    work.room((side, side) if a.ndim == 1 else (a.size,))
    return np.diag(a, beside)


def _diag_embed(work: Work, a: Any) -> Any:
    a = work.array(a)
    work.room((*a.shape, a.shape[-1]))
    return a[..., None] * np.eye(a.shape[-1])


def _triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda work, a, k=0.0, *, diagonal=0.0: function(work.array(a), whole(k) + whole(diagonal))


def _eye(work: Work, rows: Any, columns: Any = None) -> Any:
    shape = (whole(rows), whole(rows if columns is None else columns))
    if min(shape) < 1:
        raise ValueError("an array without entries: numpy warns of its mean")
    work.room(shape)
    return np.eye(*shape)


def _filled(value: float) -> Callable[..., Any]:
    def step(work: Work, *sizes: Any, size: Any = None) -> Any:
        given = sizes if size is None else (size,)
        return _full(work, given[0] if len(given) == 1 else given, value)

    return step


def _full(work: Work, shape: Any, value: Any) -> Any:
    sizes = wholes(shape if isinstance(shape, tuple) else (shape,))
    if any(size < 0 for size in sizes):
        raise ValueError("a size below 0")
    work.room(sizes)
    return np.full(sizes, float(value))


def _like(work: Work, a: Any, value: Any) -> Any:
    return _full(work, work.array(a).shape, value)


def _arange(work: Work, *ends: Any) -> Any:
    start, stop, step = (0.0, *ends, 1.0) if len(ends) == 1 else (*ends, 1.0) if len(ends) == 2 else ends
    count = max((float(stop) - float(start)) / float(step) if step else np.inf, 0)
    work.room((int(min(count, 1e18)) + 1,))
    return np.arange(start, stop, step)


def _linspace(work: Work, start: Any, end: Any, steps: Any = 50.0) -> Any:
    work.room((whole(steps),))
    return np.linspace(start, end, whole(steps))


def _sum_to_size(work: Work, a: Any, *sizes: Any) -> Any:
    a, shape = work.array(a), wholes(sizes)
    work.spend(a.size)
    a = a.sum(tuple(range(a.ndim - len(shape))))
    return a.sum(tuple(axis for axis, size in enumerate(shape) if size == 1 != a.shape[axis]), keepdims=True).reshape(
        shape
    )


def _shape(work: Work, a: Any, axis: Any = None, *, dim: Any = None) -> Any:
    shape = tuple(float(size) for size in work.array(a).shape)
    chosen = axis if dim is None else dim
    return shape if chosen is None else shape[whole(chosen)]


def _length(work: Work, a: Any) -> Any:
    if not isinstance(a, tuple) and not np.ndim(a):
        raise TypeError("a number has no length")
    return float(len(a))


def _list(work: Work, *items: Any) -> Any:
    alone = len(items) == 1 and (isinstance(items[0], tuple) or np.ndim(items[0]) > 0)
    return tuple(work.turns(items[0] if alone else items))


def _zip(work: Work, *lists: Any) -> Any:
    return tuple(zip(*(tuple(work.turns(items)) for items in lists), strict=False))


def _enumerate(work: Work, items: Any) -> Any:
    return tuple((float(place), item) for place, item in enumerate(work.turns(items)))


def _trace(work: Work, a: Any) -> Any:
    return contraction(work, "ii", [work.array(a)])


def _in_one(names: str, function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    return dict.fromkeys(names.split(), function)


REARRANGEMENTS: Mapping[str, Callable[..., Any]] = {
    **_in_one(".T t transpose swapaxes swapdims T", _transpose),
    **_in_one(".mT .H .mH adjoint matrix_transpose", _last_two),
    **_in_one("permute", _permute), **_in_one("moveaxis movedim", _moveaxis),
    **_in_one("reshape view", _reshape), "flatten": _flatten, "ravel": lambda work, a: work.array(a).reshape(-1),
    **_in_one("reshape_as view_as", lambda work, a, other: work.array(a).reshape(work.array(other).shape)),
    "squeeze": _squeeze, **_in_one("unsqueeze expand_dims", _unsqueeze), **_in_one("expand broadcast_to", _expand),
    "expand_as": lambda work, a, other: _expand(work, a, *work.array(other).shape),
    **_in_one("repeat tile", _repeat), **_in_one("np.repeat repeat_interleave", _repeat_entries),
    **_in_one("flip flipud", _flip), "stack": _stacked(np.stack),
    **_in_one("cat concat concatenate", _stacked(np.concatenate)),
    "vstack": _rows(np.vstack), "hstack": _rows(np.hstack), "column_stack": _rows(np.column_stack), "[]": _index,
    "select": lambda work, a, axis, place: np.take(work.array(a), whole(place), whole(axis)),
    "diag": _diag, "diagonal": lambda work, a: _diag(work, a) if np.ndim(a) == 2 else np.diagonal(work.array(a)),
    "diag_embed": _diag_embed, "tril": _triangle(np.tril), "triu": _triangle(np.triu), "trace": _trace,
    **_in_one("eye identity", _eye), "ones": _filled(1.0),
    "new_ones": lambda work, a, *sizes: _filled(1.0)(work, *sizes), "zeros": _filled(0.0), "full": _full,
    "ones_like": lambda work, a: _like(work, a, 1.0), "zeros_like": lambda work, a: _like(work, a, 0.0),
    "full_like": _like, **_in_one("range arange", _arange), "linspace": _linspace, "sum_to_size": _sum_to_size,
    **_in_one(".shape size shape", _shape), "len": _length,
    ".size": lambda work, a: float(work.array(a).size),
    **_in_one("numel nelement", lambda work, a: float(work.array(a).size)),
    **_in_one(".ndim dim ndim", lambda work, a: float(work.array(a).ndim)),
    **_in_one("list tuple Size tolist", _list), "unbind": lambda work, a, dim=0.0: tuple(
        work.turns(np.moveaxis(work.array(a), whole(dim), 0))), "zip": _zip, "enumerate": _enumerate,
    **_in_one(".dtype .device", lambda work, a: "float64"),
}  # fmt: skip
