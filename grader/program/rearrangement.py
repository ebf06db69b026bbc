"""Numpy forward functions and vjps of reshapes, selections, joins and writes, which move entries and compute nothing.

A vjp takes the upstream gradient g and the value in front of the arguments of its forward function, and returns the
contribution to one operand, shaped like that operand. An argument that a vjp does not need is called `_`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from .operation import Array, Operand, define

# Other shapes -------------------------------------------------------------------------------------------------------


def refined_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of fewest axes of which both shapes are made by joining neighbouring axes.

    For (bs, 6, n) and (bs, 2, 3 * n): (bs, 2, 3, n).

    Args:
        first: a shape without zeros.
        second: a shape with as many entries.

    Returns:
        The shape; `None` where there is none, as for (2, 3) and (3, 2).
    """
    refined = []
    a, b = list(reversed(first)), list(reversed(second))
    while a and b:
        size, other = a.pop(), b.pop()
        part = min(size, other)
        if part == 0 or size % part or other % part:
            return None
        refined.append(part)
        if size > part:
            a.append(size // part)
        if other > part:
            b.append(other // part)
    return (*refined, *reversed(a), *reversed(b))


def joined_axes(shape: tuple[int, ...], refined: tuple[int, ...]) -> list[int]:
    """Return for each axis of a refined shape the axis of the shape that it is a part of.

    For (bs, 2, 3 * n) and the refined shape (bs, 2, 3, n): [0, 1, 2, 2].
    """
    axes: list[int] = []
    for axis, size in enumerate(shape):
        whole = 1
        while len(axes) < len(refined) and (whole != size or not axes or axes[-1] != axis):
            whole *= refined[len(axes)]
            axes.append(axis)
    return axes + [len(shape) - 1] * (len(refined) - len(axes))


def _reshape_vjp(g: Array, _: Array, x: Array, *arguments: object, **options: object) -> Array:
    """Return g in the shape of x: the vjp of each operation that keeps the order of the entries, such as a reshape.

    Args:
        g: the upstream gradient, shaped like the value.
        _: the value, which is not needed.
        x: the operand.
        arguments: further arguments of the operation, such as the new shape, which are not needed.
        options: its options, which are not needed.
    """
    return g.reshape(np.shape(x))


def _flatten(x: Array, /, start_dim: int = 0, end_dim: int = -1) -> Array:
    """Return `x` with its axes from `start_dim` to `end_dim` (included) merged into one, as torch's `flatten` does.

    For x of shape (2, 3, 4) and `start_dim` 1: shape (2, 12).
    """
    start, end = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return x.reshape((*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def _unflatten(x: Array, /, dim: int, sizes: Sequence[int]) -> Array:
    """Return `x` with its axis `dim` split into axes of the given sizes, as torch's `unflatten` does.

    For x of shape (4, 6), dim 1 and sizes (2, 3): shape (4, 2, 3).
    """
    dim %= x.ndim
    return x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def _squeeze(x: Array, /, dim: int | Sequence[int] | None = None) -> Array:
    """Return `x` without those of the axes `dim` that have size 1; without all axes of size 1 for `None`."""
    axes = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return x.squeeze(tuple(axis for axis in axes if x.shape[axis] == 1))


def _unsqueeze(x: Array, /, dim: int) -> Array:
    """Return `x` with a new axis of size 1, which has the number `dim` in the result."""
    return np.expand_dims(x, dim % (x.ndim + 1))


def _expand(x: Array, /, shape: Sequence[int]) -> Array:
    """Return `x` repeated to a shape, along its axes of size 1 and along new axes in front, as torch's `expand` does.

    A size of -1 in `shape` keeps the size that the axis has.
    """
    own = (1,) * (len(shape) - np.ndim(x)) + np.shape(x)
    return np.broadcast_to(x, tuple(o if size == -1 else size for size, o in zip(shape, own, strict=True)))


def _expand_vjp(g: Array, _: Array, x: Array, shape: Sequence[int]) -> Array:
    """Return the vjp of `_expand`: g summed over the axes along which x was repeated; shape: that of x."""
    added = g.ndim - np.ndim(x)
    stretched = tuple(added + axis for axis, size in enumerate(np.shape(x)) if size == 1)
    return np.asarray(g.sum((*range(added), *stretched)).reshape(np.shape(x)))


def _repeat(x: Array, /, sizes: Sequence[int]) -> Array:
    """Return `x` laid side by side `sizes[i]` times along each axis i, as torch's `repeat` does."""
    return np.tile(x, sizes)


def _repeat_vjp(g: Array, _: Array, x: Array, sizes: Sequence[int]) -> Array:
    """Return the vjp of `_repeat`: the sum of g over all copies of x; shape: that of x."""
    own = (1,) * (g.ndim - x.ndim) + x.shape
    copies = (1,) * (g.ndim - len(sizes)) + tuple(sizes)
    split = [number for pair in zip(copies, own, strict=True) for number in pair]
    return np.asarray(g.reshape(split).sum(tuple(range(0, len(split), 2))).reshape(x.shape))


def _transpose(x: Array, /, dim0: int, dim1: int) -> Array:
    """Return `x` with the axes `dim0` and `dim1` exchanged."""
    return np.swapaxes(x, dim0, dim1)


def _permute_vjp(g: Array, _: Array, x: Array, dims: Sequence[int]) -> Array:
    """Return the vjp of `permute(x, dims)`: g with its axes moved back to the order that they have in x.

    Returns:
        Shape: that of x.
    """
    return np.transpose(g, np.argsort([dim % x.ndim for dim in dims]))


def _roll(x: Array, /, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Array:
    """Return `x` shifted cyclically by `shifts` along the axes `dims`, as torch's `roll` does."""
    return np.roll(x, shifts, axis=dims)


def _roll_vjp(
    g: Array, _: Array, x: Array, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Array:
    """Return the vjp of `_roll`: g shifted cyclically by `-shifts` along the same axes; shape: that of x."""
    return np.roll(g, np.negative(shifts), axis=dims)


def _pad_widths(ndim: int, pad: Sequence[int]) -> list[tuple[int, int]]:
    """Return the numbers of entries that torch's argument `pad` adds before and behind each axis, axis by axis.

    Torch gives them in pairs, the last axis first: for 3 axes and `pad` (1, 2) they are [(0, 0), (0, 0), (1, 2)].
    """
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def _pad(x: Array, /, pad: Sequence[int], value: float | None = 0.0) -> Array:
    """Return `x` with entries of a constant value around it; a negative width cuts entries off.

    Args:
        x: an array of any shape.
        pad: the widths before and behind an axis in pairs, the last axis first, as torch has it.
        value: the constant; `None` for 0.
    """
    widths = _pad_widths(x.ndim, pad)
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))]
    wide = [(max(a, 0), max(b, 0)) for a, b in widths]
    return np.pad(cut, wide, constant_values=value or 0.0)


def _pad_vjp(g: Array, _: Array, x: Array, pad: Sequence[int], value: float | None = 0.0) -> Array:
    """Return the vjp of `_pad`: g without the padding, and with zeros for what was cut off; shape: that of x."""
    return _pad(g, [-width for width in pad])


def _whole_number(number: float) -> int:
    """Return a whole number as an `int`: an edit may have changed the number to a float such as 2.0.

    Raises:
        ValueError: it is no whole number.
    """
    if number != int(number):
        raise ValueError(f"{number} is no whole number")
    return int(number)


for _name, _forward in (("reshape", lambda x, /, shape: np.reshape(x, shape)), ("flatten", _flatten),
                        ("unflatten", _unflatten), ("squeeze", _squeeze), ("unsqueeze", _unsqueeze)):  # fmt: skip
    define(_name, "rearrangement", _forward, _reshape_vjp)
define("expand", "rearrangement", _expand, _expand_vjp)
define("repeat", "rearrangement", _repeat, _repeat_vjp)
define("transpose", "rearrangement", _transpose, lambda g, v, x, dim0, dim1: _transpose(g, dim0, dim1))
define("permute", "rearrangement", lambda x, /, dims: np.transpose(x, dims), _permute_vjp)
define("flip", "rearrangement", lambda x, /, dims: np.flip(x, dims), lambda g, v, x, dims: np.flip(g, dims))
define("roll", "rearrangement", _roll, _roll_vjp)
define("tril", "rearrangement", lambda x, /, diagonal=0: np.tril(x, _whole_number(diagonal)),
       lambda g, v, x, diagonal=0: np.tril(g, _whole_number(diagonal)))  # fmt: skip
define("triu", "rearrangement", lambda x, /, diagonal=0: np.triu(x, _whole_number(diagonal)),
       lambda g, v, x, diagonal=0: np.triu(g, _whole_number(diagonal)))  # fmt: skip
define("pad", "rearrangement", _pad, _pad_vjp)


# Selections ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """The position of an operand inside an option: the index of `x[:, rows]` is `(slice(None), Slot(1))`.

    Args:
        slot: the slot of the operand.
    """

    slot: int


Item = int | slice | None | Slot | EllipsisType


def _fill_index(index: Sequence[Item], values: Sequence[Operand]) -> tuple[Any, ...]:
    """Return an index for numpy, in which each `Slot(i)` is replaced by `values[i]`.

    For `x[:, rows]`, the index `(slice(None), Slot(1))` and the values (x, rows): `(slice(None), rows)`.

    Args:
        index: the items of the index: numbers, slices, `None`, `...`, and `Slot`s. It may have fewer items than x axes.
        values: all operands; the first is the array that is indexed.
    """
    return tuple(values[item.slot] if isinstance(item, Slot) else item for item in index)


def _getitem(x: Array, /, *indices: Array, index: Sequence[Item]) -> Array:
    """Return `x[index]`, in which each `Slot(i)` of the index stands for `indices[i - 1]`.

    For `x[:, rows]`: `indices` is (rows,), and `index` is `(slice(None), Slot(1))`.
    """
    return np.asarray(x[_fill_index(index, (x, *indices))])


def _getitem_vjp(slot: int, g: Array, _: Array, x: Array, *indices: Array, index: Sequence[Item]) -> Array:
    """Return the vjp of `_getitem` for x: zeros to which g is added where the entries were taken; shape: that of x.

    An entry that was taken twice gets the sum. `slot` is not needed: x alone gets a gradient.
    """
    part, at = np.zeros(np.shape(x)), _fill_index(index, (x, *indices))
    if indices:
        np.add.at(part, at, g)  # an entry may be taken several times
    else:
        part[at] = g
    return part


def _index_select(x: Array, /, index: Array, *, dim: int) -> Array:
    """Return the slices of `x` with the numbers `index` along the axis `dim`, as torch's `index_select` does."""
    return np.take(x, index, axis=dim)


def _index_select_vjp(g: Array, _: Array, x: Array, index: Array, *, dim: int) -> Array:
    """Return the vjp of `_index_select` for x: zeros to which g is added at the slices that were taken.

    Returns:
        Shape: that of x.
    """
    part = np.zeros(np.shape(x))
    np.add.at(np.moveaxis(part, dim, 0), index, np.moveaxis(g, dim, 0))
    return part


def _index_along(x: Array, index: Array, dim: int) -> tuple[Array, ...]:
    """Return the numpy index of the entries that `x.gather(dim, index)` takes.

    For two axes and dim 1 it takes x[i, index[i, j]]: the index ([[0], [1], ...], index).

    Returns:
        One integer array for each axis, which broadcast to the shape of `index`.
    """
    places: list[Array] = list(np.indices(index.shape, sparse=True))
    places[dim % x.ndim] = index
    return tuple(places)


def _gather(x: Array, /, index: Array, *, dim: int) -> Array:
    """Return `x.gather(dim, index)`: for two axes and dim 1 the array with the entries x[i, index[i, j]].

    Shape: that of index.
    """
    return np.asarray(x[_index_along(x, index, dim)])


def _gather_vjp(g: Array, _: Array, x: Array, index: Array, *, dim: int) -> Array:
    """Return the vjp of `_gather` for x: zeros to which g is added where the entries were taken; shape: that of x."""
    part = np.zeros(x.shape)
    np.add.at(part, _index_along(x, index, dim), g)
    return part


def _scatter(x: Array, /, index: Array, source: Operand, *, dim: int) -> Array:
    """Return a copy of `x` with the source written where `gather` with this index reads, as torch's `scatter` does.

    For two axes and dim 1: entry [i, index[i, j]] becomes source[i, j].

    Args:
        x: an array of any shape.
        index: integers, with as many axes as x.
        source: a number, or an array that is at least as large as the index along each axis.
        dim: the axis that the numbers in the index count along.
    """
    value, at = np.array(x), _index_along(x, index, dim)
    value[at] = source if np.ndim(source) == 0 else source[tuple(map(slice, index.shape))]  # type: ignore[index]
    return value


def _scatter_add(x: Array, /, index: Array, source: Array, *, dim: int) -> Array:
    """Return a copy of `x` with the source added where `gather` with this index reads, as torch's `scatter_add` does.

    For two axes and dim 1: source[i, j] is added to entry [i, index[i, j]].

    Args:
        x: an array of any shape.
        index: integers, with as many axes as x.
        source: an array that is at least as large as the index along each axis.
        dim: the axis that the numbers in the index count along.
    """
    value = np.array(x)
    np.add.at(value, _index_along(x, index, dim), source[tuple(map(slice, index.shape))])
    return value


def _scatter_source_vjp(g: Array, _: Array, x: Array, index: Array, source: Operand, *, dim: int) -> Array:
    """Return the vjp of `_scatter` and `_scatter_add` for the source: g at the positions that the source went to.

    Returns:
        Shape: that of the source, with zeros where it exceeds the index; for a number the sum of g at these positions.
    """
    arriving = g[_index_along(x, index, dim)]
    if np.ndim(source) == 0:
        return np.asarray(arriving.sum())
    part = np.zeros(np.shape(source))
    part[tuple(map(slice, index.shape))] = arriving
    return part


def _scatter_vjp(g: Array, _: Array, x: Array, index: Array, source: Operand, *, dim: int) -> Array:
    """Return the vjp of `_scatter` for x: g, with zeros where x was overwritten by the source; shape: that of x."""
    part = np.array(g)
    part[_index_along(x, index, dim)] = 0.0
    return part


def _index_add(x: Array, /, index: Array, source: Array, *, dim: int) -> Array:
    """Return a copy of `x` to which slice i of the source is added at slice `index[i]` along the axis `dim`."""
    value = np.array(x)
    np.add.at(np.moveaxis(value, dim, 0), index, np.moveaxis(source, dim, 0))
    return value


def _narrow(x: Array, /, dim: int, start: int, length: int) -> Array:
    """Return `length` entries of `x` along the axis `dim`, from `start` on: what `narrow`, `chunk` and `split` give."""
    start %= x.shape[dim] or 1
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, start + length),)]


def _narrow_vjp(g: Array, _: Array, x: Array, dim: int, start: int, length: int) -> Array:
    """Return the vjp of `_narrow`: zeros with g in place of the entries that were taken; shape: that of x."""
    part = np.zeros(x.shape)
    _narrow(part, dim, start, length)[...] = g
    return part


def _select(x: Array, /, dim: int, index: int) -> Array:
    """Return slice `index` of `x` along the axis `dim`, without this axis: `select(x, 0, i)` is x[i]."""
    return np.asarray(np.take(x, index, axis=dim))


def _select_vjp(g: Array, _: Array, x: Array, dim: int, index: int) -> Array:
    """Return the vjp of `_select`: zeros, with g as slice `index` along the axis `dim`; shape: that of x."""
    part = np.zeros(x.shape)
    part[(slice(None),) * (dim % x.ndim) + (index,)] = g
    return part


def _argmax(x: Array, /, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the positions of the greatest entries of `x` along the axis `dim`, or, for `None`, in the flattened x.

    Of equal entries it is the first. The axis is missing in the result, or has size 1 if `keepdim`.
    """
    return np.asarray(np.argmax(x, axis=dim, keepdims=keepdim))


def _argmin(x: Array, /, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the positions of the least entries of `x` along the axis `dim`, or, for `None`, in the flattened x.

    Of equal entries it is the first. The axis is missing in the result, or has size 1 if `keepdim`.
    """
    return np.asarray(np.argmin(x, axis=dim, keepdims=keepdim))


def _argsort(x: Array, /, dim: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the positions in `x` of its entries along the axis `dim`, in rising order, or falling if `descending`.

    Equal entries keep their order, whatever `stable` is. Shape: that of x.
    """
    return np.argsort(-np.asarray(x) if descending else x, axis=dim, kind="stable")


def _top_positions(x: Array, /, k: int, dim: int = -1, largest: bool = True) -> Array:
    """Return the positions of the k greatest entries of `x` along the axis `dim`, the greatest first.

    If not `largest`, those of the k least entries, the least first.
    """
    return _narrow(_argsort(x, dim, descending=largest), dim, 0, k)


def _entries_at(x: Array, dim: int, keepdim: bool, positions: Array) -> Array:
    """Return the entries of `x` at the given positions along the axis `dim`, such as the greatest ones.

    Args:
        x: an array of any shape.
        dim: the axis that the positions count along.
        keepdim: whether `positions` has this axis.
        positions: the positions, shaped like x but for the axis `dim`, which is missing if not `keepdim`.

    Returns:
        Shape: that of `positions`.
    """
    entries = np.take_along_axis(x, positions if keepdim else np.expand_dims(positions, dim), dim)
    return entries if keepdim else entries.squeeze(dim)


def _entries_at_vjp(g: Array, x: Array, dim: int, keepdim: bool, positions: Array) -> Array:
    """Return the vjp of `_entries_at` for x: zeros with g at the given positions along `dim`; shape: that of x."""
    part = np.zeros(x.shape)
    kept = [a if keepdim else np.expand_dims(a, dim) for a in (positions, g)]
    np.put_along_axis(part, kept[0], kept[1], dim)
    return part


define("getitem", "selection", _getitem, _getitem_vjp, None, variadic=True)
define("index_select", "selection", _index_select, _index_select_vjp, None)
define("embedding", "selection", lambda x, index, /: x[index],
       lambda g, v, x, index: _index_select_vjp(g, v, x, index, dim=0),
       None)  # fmt: skip
define("gather", "selection", _gather, _gather_vjp, None)
define("scatter", "selection", _scatter, _scatter_vjp, None, _scatter_source_vjp)
define("scatter_add", "selection", _scatter_add, lambda g, v, x, index, source, *, dim: g, None, _scatter_source_vjp)
define("index_add", "selection", _index_add, lambda g, v, x, index, source, *, dim: g, None,
       lambda g, v, x, index, source, *, dim: _index_select(g, index, dim=dim))  # fmt: skip
define("piece", "selection", _narrow, _narrow_vjp)
define("select", "selection", _select, _select_vjp)
define("argmax", "selection", _argmax)
define("argmin", "selection", _argmin)
define("argsort", "selection", _argsort)
define("top_places", "selection", _top_positions)
define("max", "selection", lambda x, /, dim, keepdim=False: _entries_at(x, dim, keepdim, _argmax(x, dim, keepdim)),
       lambda g, v, x, dim, keepdim=False: _entries_at_vjp(g, x, dim, keepdim, _argmax(x, dim, keepdim)))  # fmt: skip
define("min", "selection", lambda x, /, dim, keepdim=False: _entries_at(x, dim, keepdim, _argmin(x, dim, keepdim)),
       lambda g, v, x, dim, keepdim=False: _entries_at_vjp(g, x, dim, keepdim, _argmin(x, dim, keepdim)))  # fmt: skip
define("sort", "selection", lambda x, /, dim=-1, descending=False, stable=True:
       _entries_at(x, dim, True, _argsort(x, dim, descending)),
       lambda g, v, x, dim=-1, descending=False, stable=True:
       _entries_at_vjp(g, x, dim, True, _argsort(x, dim, descending)))  # fmt: skip
define("topk", "selection", lambda x, /, k, dim=-1, largest=True:
       _entries_at(x, dim, True, _top_positions(x, k, dim, largest)),
       lambda g, v, x, k, dim=-1, largest=True:
       _entries_at_vjp(g, x, dim, True, _top_positions(x, k, dim, largest)))  # fmt: skip


# Joins and writes ---------------------------------------------------------------------------------------------------


def _cat(*parts: Array, dim: int = 0) -> Array:
    """Return the arrays `parts` joined along their axis `dim`."""
    return np.concatenate(parts, axis=dim)


def _cat_vjp(slot: int, g: Array, _: Array, *parts: Array, dim: int = 0) -> Array:
    """Return the vjp of `_cat` for the array in a slot: the entries of g along `dim` where this array stands.

    Shape: that of `parts[slot]`.
    """
    start = sum(part.shape[dim] for part in parts[:slot])
    return _narrow(g, dim, start, parts[slot].shape[dim])


def _stack(*parts: Array, dim: int = 0) -> Array:
    """Return the arrays `parts`, all of one shape, joined along a new axis `dim`."""
    return np.stack(parts, axis=dim)


def _stack_vjp(slot: int, g: Array, _: Array, *parts: Array, dim: int = 0) -> Array:
    """Return the vjp of `_stack` for the array in a slot: slice number `slot` of g along the axis `dim`."""
    return np.asarray(np.take(g, slot, axis=dim))


def _write(base: Array, /, *parts: Array, regions: Sequence[Array], shape: Sequence[int]) -> Array:
    """Return a copy of `base` into which the arrays `parts` have been written, one after the other.

    For `states[0] = h` on a tensor of shape (2, 3) there is one part, h, with the region [0, 1, 2].

    Args:
        base: what the memory held before; shape: `shape`, or one that broadcasts to it.
        parts: the arrays that are written.
        regions: for each part the flat positions that its entries go to, shaped like the part.
        shape: the shape of the result.
    """
    value = np.array(np.broadcast_to(base, tuple(shape)), order="C")
    for part, region in zip(parts, regions, strict=True):
        value.reshape(-1)[region] = part
    return value


def _write_vjp(
    slot: int, g: Array, _: Array, base: Array, *parts: Array, regions: Sequence[Array], shape: Sequence[int]
) -> Array:
    """Return the vjp of `_write` for one operand: g where it was written, but 0 where a later part was written over it.

    Args:
        slot: 0 for the base; i for `parts[i - 1]`.
        g: the upstream gradient; shape: `shape`.
        _: the value, which is not needed.
        base: what the memory held before.
        parts: the arrays that were written, in order.
        regions: for each part the flat positions that its entries went to, shaped like the part.
        shape: the shape of the value.

    Returns:
        The contribution, shaped like the part, or like the value for the base.
    """
    part: Array = np.array(g, order="C").reshape(-1)
    for region in regions[slot:]:  # those of the parts behind this one; of all parts for the base
        part[region] = 0.0
    return part[regions[slot - 1]] if slot else part.reshape(g.shape)


define("cat", "join", _cat, _cat_vjp, variadic=True)
define("stack", "join", _stack, _stack_vjp, variadic=True)
define("write", "write", _write, _write_vjp, variadic=True)
