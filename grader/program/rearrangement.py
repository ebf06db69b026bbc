"""Operations that move entries and compute nothing: other shapes, selections, joins, orders, and writes in place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from .operation import Array, Operand, define

# Other shapes -------------------------------------------------------------------------------------------------------


def _as_operand(g: Array, _: Array, x: Array, *arguments: object, **options: object) -> Array:
    """Return the upstream gradient in the operand's shape: the vjp of all that keeps the order of the entries."""
    return g.reshape(np.shape(x))


def _flatten(x: Array, /, start_dim: int = 0, end_dim: int = -1) -> Array:
    """Return x with adjacent axes made one."""
    start, end = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return x.reshape((*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def _unflatten(x: Array, /, dim: int, sizes: Sequence[int]) -> Array:
    """Return x with one axis made several."""
    dim %= x.ndim
    return x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def _squeeze(x: Array, /, dim: int | Sequence[int] | None = None) -> Array:
    """Return x without axes of size 1."""
    axes = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return x.squeeze(tuple(axis for axis in axes if x.shape[axis] == 1))


def _unsqueeze(x: Array, /, dim: int) -> Array:
    """Return x with a new axis of size 1."""
    return np.expand_dims(x, dim % (x.ndim + 1))


def _expand(x: Array, /, shape: Sequence[int]) -> Array:
    """Return x repeated along axes of size 1 and new axes in front; -1 keeps a size."""
    own = (1,) * (len(shape) - np.ndim(x)) + np.shape(x)
    return np.broadcast_to(x, tuple(o if size == -1 else size for size, o in zip(shape, own, strict=True)))


def _expand_vjp(g: Array, _: Array, x: Array, shape: Sequence[int]) -> Array:
    """Return the gradient summed over the repeated axes; shape: that of x."""
    added = g.ndim - np.ndim(x)
    stretched = tuple(added + axis for axis, size in enumerate(np.shape(x)) if size == 1)
    return np.asarray(g.sum((*range(added), *stretched)).reshape(np.shape(x)))


def _repeat(x: Array, /, sizes: Sequence[int]) -> Array:
    """Return x laid side by side several times along each axis."""
    return np.tile(x, sizes)


def _repeat_vjp(g: Array, _: Array, x: Array, sizes: Sequence[int]) -> Array:
    """Return the sum over all copies of x; shape: that of x."""
    own = (1,) * (len(sizes) - x.ndim) + x.shape
    split = [number for pair in zip(sizes, own, strict=True) for number in pair]
    return np.asarray(g.reshape(split).sum(tuple(range(0, len(split), 2))).reshape(x.shape))


def _transpose(x: Array, /, dim0: int, dim1: int) -> Array:
    """Return x with two axes exchanged."""
    return np.swapaxes(x, dim0, dim1)


def _permute_vjp(g: Array, _: Array, x: Array, dims: Sequence[int]) -> Array:
    """Return the gradient with its axes in the order of x."""
    return np.transpose(g, np.argsort([dim % x.ndim for dim in dims]))


def _roll(x: Array, /, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Array:
    """Return x shifted cyclically along some axes."""
    return np.roll(x, shifts, axis=dims)


def _roll_vjp(
    g: Array, _: Array, x: Array, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Array:
    """Return the gradient shifted back."""
    return np.roll(g, np.negative(shifts), axis=dims)


def _pad_widths(ndim: int, pad: Sequence[int]) -> list[tuple[int, int]]:
    """Return numbers of entries before and behind each axis; torch gives them in pairs, the last axis first."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def _pad(x: Array, /, pad: Sequence[int], mode: str = "constant", value: float | None = 0.0) -> Array:
    """Return x with a constant around it; a negative width cuts entries off."""
    widths = _pad_widths(x.ndim, pad)
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))]
    wide = [(max(a, 0), max(b, 0)) for a, b in widths]
    return np.pad(cut, wide, constant_values=value or 0.0)


def _pad_vjp(
    g: Array, _: Array, x: Array, pad: Sequence[int], mode: str = "constant", value: float | None = 0.0
) -> Array:
    """Return the gradient without the padding, and zeros for what was cut off."""
    return _pad(g, [-width for width in pad])


def _whole(number: float) -> int:
    """Return a whole number as an integer, for an edit may have made a float of it.

    Raises:
        ValueError: it is none.
    """
    if number != int(number):
        raise ValueError(f"{number} is no whole number")
    return int(number)


for _name, _forward in (("reshape", lambda x, /, shape: np.reshape(x, shape)), ("flatten", _flatten),
                        ("unflatten", _unflatten), ("squeeze", _squeeze), ("unsqueeze", _unsqueeze)):  # fmt: skip
    define(_name, "rearrangement", _forward, _as_operand)
define("expand", "rearrangement", _expand, _expand_vjp)
define("repeat", "rearrangement", _repeat, _repeat_vjp)
define("transpose", "rearrangement", _transpose, lambda g, v, x, dim0, dim1: _transpose(g, dim0, dim1))
define("permute", "rearrangement", lambda x, /, dims: np.transpose(x, dims), _permute_vjp)
define("flip", "rearrangement", lambda x, /, dims: np.flip(x, dims), lambda g, v, x, dims: np.flip(g, dims))
define("roll", "rearrangement", _roll, _roll_vjp)
define("tril", "rearrangement", lambda x, /, diagonal=0: np.tril(x, _whole(diagonal)),
       lambda g, v, x, diagonal=0: np.tril(g, _whole(diagonal)))  # fmt: skip
define("triu", "rearrangement", lambda x, /, diagonal=0: np.triu(x, _whole(diagonal)),
       lambda g, v, x, diagonal=0: np.triu(g, _whole(diagonal)))  # fmt: skip
define("pad", "rearrangement", _pad, _pad_vjp)


# Selections ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """The place of an operand inside an option, such as the tensor in the index of `x[:, rows]`."""

    slot: int


Item = int | slice | None | Slot | EllipsisType


def _filled(index: Sequence[Item], values: Sequence[Operand]) -> tuple[Any, ...]:
    """Return an index with its operands in place; `values` begin with the array that is indexed."""
    return tuple(values[item.slot] if isinstance(item, Slot) else item for item in index)


def _getitem(x: Array, /, *indices: Array, index: Sequence[Item]) -> Array:
    """Return x[index], with the index operands in their places."""
    return np.asarray(x[_filled(index, (x, *indices))])


def _getitem_vjp(slot: int, g: Array, _: Array, x: Array, *indices: Array, index: Sequence[Item]) -> Array:
    """Return zeros with the gradient added where the entries were taken; shape: that of x."""
    part, at = np.zeros(np.shape(x)), _filled(index, (x, *indices))
    if indices:
        np.add.at(part, at, g)  # an entry may be taken several times
    else:
        part[at] = g
    return part


def _take(x: Array, /, index: Array, *, dim: int) -> Array:
    """Return the entries of x at these places along an axis, each for a whole slice."""
    return np.take(x, index, axis=dim)


def _take_vjp(g: Array, _: Array, x: Array, index: Array, *, dim: int) -> Array:
    """Return zeros with the gradient added to the slices that were taken; shape: that of x."""
    part = np.zeros(np.shape(x))
    np.add.at(np.moveaxis(part, dim, 0), index, np.moveaxis(g, dim, 0))
    return part


def _along(x: Array, index: Array, dim: int) -> tuple[Array, ...]:
    """Return the index arrays of `x.gather(dim, index)`: those of its own place, but for one axis."""
    places: list[Array] = list(np.indices(index.shape, sparse=True))
    places[dim % x.ndim] = index
    return tuple(places)


def _gather(x: Array, /, index: Array, *, dim: int) -> Array:
    """Return for each entry of the index the entry of x at this place along an axis."""
    return np.asarray(x[_along(x, index, dim)])


def _gather_vjp(g: Array, _: Array, x: Array, index: Array, *, dim: int) -> Array:
    """Return zeros with the gradient added where the entries were taken; shape: that of x."""
    part = np.zeros(x.shape)
    np.add.at(part, _along(x, index, dim), g)
    return part


def _scatter(x: Array, /, index: Array, source: Operand, *, dim: int) -> Array:
    """Return x with the source written to the places of the index along an axis."""
    value, at = np.array(x), _along(x, index, dim)
    value[at] = source if np.ndim(source) == 0 else source[tuple(map(slice, index.shape))]  # type: ignore[index]
    return value


def _scatter_add(x: Array, /, index: Array, source: Array, *, dim: int) -> Array:
    """Return x with the source added at the places of the index along an axis."""
    value = np.array(x)
    np.add.at(value, _along(x, index, dim), source[tuple(map(slice, index.shape))])
    return value


def _scattered_vjp(g: Array, _: Array, x: Array, index: Array, source: Operand, *, dim: int) -> Array:
    """Return the gradient of what is scattered: that which arrives where it went."""
    arriving = g[_along(x, index, dim)]
    if np.ndim(source) == 0:
        return np.asarray(arriving.sum())
    part = np.zeros(np.shape(source))
    part[tuple(map(slice, index.shape))] = arriving
    return part


def _scatter_vjp(g: Array, _: Array, x: Array, index: Array, source: Operand, *, dim: int) -> Array:
    """Return the gradient, zero where x was written over."""
    part = np.array(g)
    part[_along(x, index, dim)] = 0.0
    return part


def _index_add(x: Array, /, index: Array, source: Array, *, dim: int) -> Array:
    """Return x with slices of the source added at these places along an axis."""
    value = np.array(x)
    np.add.at(np.moveaxis(value, dim, 0), index, np.moveaxis(source, dim, 0))
    return value


def _piece(x: Array, /, dim: int, start: int, length: int) -> Array:
    """Return `length` entries along an axis from `start` on: what `narrow`, `chunk` and `split` give."""
    start %= x.shape[dim] or 1
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, start + length),)]


def _piece_vjp(g: Array, _: Array, x: Array, dim: int, start: int, length: int) -> Array:
    """Return zeros with the gradient in place of the piece; shape: that of x."""
    part = np.zeros(x.shape)
    _piece(part, dim, start, length)[...] = g
    return part


def _select(x: Array, /, dim: int, index: int) -> Array:
    """Return the slice at one place along an axis, without this axis."""
    return np.asarray(np.take(x, index, axis=dim))


def _select_vjp(g: Array, _: Array, x: Array, dim: int, index: int) -> Array:
    """Return zeros with the gradient in place of the slice; shape: that of x."""
    part = np.zeros(x.shape)
    part[(slice(None),) * (dim % x.ndim) + (index,)] = g
    return part


def _argmax(x: Array, /, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the places of the greatest entries along an axis, the first of equal ones."""
    return np.asarray(np.argmax(x, axis=dim, keepdims=keepdim))


def _argmin(x: Array, /, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the places of the least entries along an axis, the first of equal ones."""
    return np.asarray(np.argmin(x, axis=dim, keepdims=keepdim))


def _argsort(x: Array, /, dim: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the places of the entries along an axis in order; equal ones stay in theirs."""
    return np.argsort(-np.asarray(x) if descending else x, axis=dim, kind="stable")


def _top_places(x: Array, /, k: int, dim: int = -1, largest: bool = True) -> Array:
    """Return the places of the k greatest entries along an axis, or of the least, in order."""
    return _piece(_argsort(x, dim, descending=largest), dim, 0, k)


def _extreme(x: Array, dim: int, keepdim: bool, place: Array) -> Array:
    """Return the entries at these places along an axis."""
    entries = np.take_along_axis(x, place if keepdim else np.expand_dims(place, dim), dim)
    return entries if keepdim else entries.squeeze(dim)


def _extreme_vjp(g: Array, x: Array, dim: int, keepdim: bool, place: Array) -> Array:
    """Return the gradient at these places along an axis, and zero elsewhere."""
    part = np.zeros(x.shape)
    kept = [a if keepdim else np.expand_dims(a, dim) for a in (place, g)]
    np.put_along_axis(part, kept[0], kept[1], dim)
    return part


define("getitem", "selection", _getitem, _getitem_vjp, None, variadic=True)
define("index_select", "selection", _take, _take_vjp, None)
define("embedding", "selection", lambda x, index, /: x[index], lambda g, v, x, index: _take_vjp(g, v, x, index, dim=0),
       None)  # fmt: skip
define("gather", "selection", _gather, _gather_vjp, None)
define("scatter", "selection", _scatter, _scatter_vjp, None, _scattered_vjp)
define("scatter_add", "selection", _scatter_add, lambda g, v, x, index, source, *, dim: g, None, _scattered_vjp)
define("index_add", "selection", _index_add, lambda g, v, x, index, source, *, dim: g, None,
       lambda g, v, x, index, source, *, dim: _take(g, index, dim=dim))  # fmt: skip
define("piece", "selection", _piece, _piece_vjp)
define("select", "selection", _select, _select_vjp)
define("argmax", "selection", _argmax)
define("argmin", "selection", _argmin)
define("argsort", "selection", _argsort)
define("top_places", "selection", _top_places)
define("max", "selection", lambda x, /, dim, keepdim=False: _extreme(x, dim, keepdim, _argmax(x, dim, keepdim)),
       lambda g, v, x, dim, keepdim=False: _extreme_vjp(g, x, dim, keepdim, _argmax(x, dim, keepdim)))  # fmt: skip
define("min", "selection", lambda x, /, dim, keepdim=False: _extreme(x, dim, keepdim, _argmin(x, dim, keepdim)),
       lambda g, v, x, dim, keepdim=False: _extreme_vjp(g, x, dim, keepdim, _argmin(x, dim, keepdim)))  # fmt: skip
define("sort", "selection", lambda x, /, dim=-1, descending=False, stable=True:
       _extreme(x, dim, True, _argsort(x, dim, descending)),
       lambda g, v, x, dim=-1, descending=False, stable=True:
       _extreme_vjp(g, x, dim, True, _argsort(x, dim, descending)))  # fmt: skip
define("topk", "selection", lambda x, /, k, dim=-1, largest=True:
       _extreme(x, dim, True, _top_places(x, k, dim, largest)),
       lambda g, v, x, k, dim=-1, largest=True:
       _extreme_vjp(g, x, dim, True, _top_places(x, k, dim, largest)))  # fmt: skip


# Joins and writes ---------------------------------------------------------------------------------------------------


def _cat(*parts: Array, dim: int = 0) -> Array:
    """Return arrays joined along an axis."""
    return np.concatenate(parts, axis=dim)


def _cat_vjp(slot: int, g: Array, _: Array, *parts: Array, dim: int = 0) -> Array:
    """Return the piece of the gradient that belongs to one array."""
    start = sum(part.shape[dim] for part in parts[:slot])
    return _piece(g, dim, start, parts[slot].shape[dim])


def _stack(*parts: Array, dim: int = 0) -> Array:
    """Return arrays joined along a new axis."""
    return np.stack(parts, axis=dim)


def _stack_vjp(slot: int, g: Array, _: Array, *parts: Array, dim: int = 0) -> Array:
    """Return the slice of the gradient that belongs to one array."""
    return np.asarray(np.take(g, slot, axis=dim))


def _write(base: Array, /, *parts: Array, regions: Sequence[Array], shape: Sequence[int]) -> Array:
    """Return an array with parts written into it, one after the other.

    Args:
        base: what was there before; shape: `shape`.
        parts: what is written.
        regions: for each part the flat places in the array that its entries go to, shaped like the part.
        shape: the array's.
    """
    value = np.array(np.broadcast_to(base, tuple(shape)), order="C")
    for part, region in zip(parts, regions, strict=True):
        value.reshape(-1)[region] = part
    return value


def _write_vjp(
    slot: int, g: Array, _: Array, base: Array, *parts: Array, regions: Sequence[Array], shape: Sequence[int]
) -> Array:
    """Return what arrives in a part's region, or at the base, where no later part was written over it."""
    part: Array = np.array(g, order="C").reshape(-1)
    for region in regions[slot:]:  # those of the parts behind this one; of all parts for the base
        part[region] = 0.0
    return part[regions[slot - 1]] if slot else part.reshape(g.shape)


define("cat", "join", _cat, _cat_vjp, variadic=True)
define("stack", "join", _stack, _stack_vjp, variadic=True)
define("write", "write", _write, _write_vjp, variadic=True)
