"""Numpy forward functions and vjps of operations on windows of an array: convolutions, pooling and unfolding.

A tap is a position inside the window, such as (0, 2) of a 3 by 3 kernel. All is computed tap by tap: the entries that
one tap meets in all windows are a strided part of the array. A tap outside of the array meets zeros, and what an
upstream gradient has beyond the last window is left out, so that each vjp can be computed with a wrong stride, dilation
or padding as well. Arguments of type `Sizes` have one whole number for each axis that the windows slide along.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .operation import Array, define

Sizes = tuple[int, ...]


def _tap_positions(kernel: Sequence[int]) -> Iterator[Sizes]:
    """Yield every position inside a window (a tap): (0, 0), (0, 1), (1, 0), (1, 1) for a kernel of sizes (2, 2)."""
    return itertools.product(*map(range, kernel))


def _window_count(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many windows fit along one axis of an array.

    For 5 entries, a kernel of 3 and a stride of 1, without padding: 3.

    Args:
        size: the number of entries along the axis.
        kernel: the number of entries that a window meets.
        stride: the distance between two windows.
        padding: the number of entries that are added at each end.
        dilation: the distance between two entries of a window.
    """
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _pad_for_windows(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, count: Sizes,
             fill: float = 0.0) -> Array:  # fmt: skip
    """Return `x` padded at its last axes, in front by `padding` and behind so far that `count` windows fit.

    All arguments but x and fill have one number for each axis that the windows slide along; these are x's last ones.

    Args:
        x: an array with any number of axes in front, such as examples and channels.
        kernel: the size of a window.
        stride: the distance between two windows.
        padding: the number of entries that are added in front.
        dilation: the distance between two taps.
        count: the number of windows.
        fill: the value of the added entries.
    """
    sizes = zip(x.shape[-len(kernel) :], kernel, stride, padding, dilation, count, strict=True)
    behind = [max((c - 1) * s + d * (k - 1) + 1 - size - p, 0) for size, k, s, p, d, c in sizes]
    widths = [(0, 0)] * (x.ndim - len(kernel)) + list(zip(padding, behind, strict=True))
    return np.pad(x, widths, constant_values=fill)


def _tap_slices(tap: Sizes, stride: Sizes, dilation: Sizes, count: Sizes) -> tuple[Any, ...]:
    """Return the numpy index of the entries of a padded array that one tap meets, one for each window.

    For the tap (1,), a stride of 2, a dilation of 1 and a count of 3: `(..., slice(1, 6, 2))`.

    Args:
        tap: the position of the tap in the window.
        stride: the distance between two windows, for each axis.
        dilation: the distance between two taps.
        count: the number of windows.

    Returns:
        An ellipsis, and a slice for each axis that the windows slide along.
    """
    starts = [t * d for t, d in zip(tap, dilation, strict=True)]
    slices: list[slice] = [slice(a, a + (c - 1) * s + 1, s) for a, s, c in zip(starts, stride, count, strict=True)]
    return (Ellipsis, *slices)


def _strip_padding(wide: Array, padding: Sizes, shape: Sizes) -> Array:
    """Return a padded array without its padding, in the sizes that it had before `_pad_for_windows`.

    Args:
        wide: the padded array; where it is too short, zeros are appended.
        padding: for each of the last axes the number of entries that were added in front.
        shape: the shape of the array before; only its sizes along these axes are needed.
    """
    sizes = shape[-len(padding) :]
    missing = [max(p + n - size, 0) for p, n, size in zip(padding, sizes, wide.shape[-len(padding) :], strict=True)]
    if any(missing):
        wide = np.pad(wide, [(0, 0)] * (wide.ndim - len(padding)) + [(0, more) for more in missing])
    own: list[slice] = [slice(p, p + n) for p, n in zip(padding, sizes, strict=True)]
    index: tuple[Any, ...] = (Ellipsis, *own)
    return np.asarray(wide[index])


def _split_groups(w: Array, groups: int) -> Array:
    """Return a convolution kernel with an axis for its groups in front, by a reshape.

    Args:
        w: shape: (outputs, channels / groups, *kernel).
        groups: the number of groups of the convolution, in each of which outputs depend on channels of the group alone.

    Returns:
        Shape: (groups, outputs / groups, channels / groups, *kernel).
    """
    return w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def _convolution(
    x: Array, w: Array, bias: Array | float = 0.0, /, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return the cross-correlation of an array with a kernel, as torch's `conv1d` to `conv3d` compute it.

    Args:
        x: shape: (examples, channels, *sizes).
        w: shape: (outputs, channels / groups, *kernel).
        bias: shape: (outputs,); or 0.
        stride: the distance between two windows, as the following for each axis of the kernel.
        padding: the number of zeros at both ends.
        dilation: the distance between two taps.
        groups: the number of groups that channels and outputs are split into.

    Returns:
        Shape: (examples, outputs, *windows).

    Raises:
        ValueError: the kernel is larger than the padded array.
    """
    kernel = w.shape[2:]
    places = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    count = tuple(_window_count(*place) for place in places)
    if min(count) < 1:
        raise ValueError("the kernel is larger than the array")
    wide = _pad_for_windows(x, kernel, stride, padding, dilation, count)
    wide = wide.reshape(len(x), groups, -1, *wide.shape[2:])
    kernels = _split_groups(w, groups)
    value = sum(
        np.einsum("ngc...,goc->ngo...", wide[_tap_slices(tap, stride, dilation, count)],
                  kernels[(slice(None),) * 3 + tap])
        for tap in _tap_positions(kernel)
    )  # fmt: skip
    return np.asarray(np.reshape(value, (len(x), -1, *count)) + np.reshape(bias, (-1, *(1,) * len(kernel))))


def _convolution_input_vjp(g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, *, stride: Sizes,
                           padding: Sizes, dilation: Sizes, groups: int) -> Array:  # fmt: skip
    """Return the vjp of `_convolution` for x: for each entry the sum of g * w over the taps and windows that met it.

    Returns:
        Shape: that of x.
    """
    kernel, count = w.shape[2:], g.shape[2:]
    wide: Array = np.zeros(_pad_for_windows(x, kernel, stride, padding, dilation, count).shape)
    wide = wide.reshape(len(x), groups, -1, *wide.shape[2:])
    upstream, kernels = g.reshape(len(g), groups, -1, *count), _split_groups(w, groups)
    for tap in _tap_positions(kernel):
        part = np.einsum("ngo...,goc->ngc...", upstream, kernels[(slice(None),) * 3 + tap])
        wide[_tap_slices(tap, stride, dilation, count)] += part
    return _strip_padding(wide.reshape(len(x), -1, *wide.shape[3:]), padding, x.shape)


def _convolution_kernel_vjp(g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, *, stride: Sizes,
                            padding: Sizes, dilation: Sizes, groups: int) -> Array:  # fmt: skip
    """Return the vjp of `_convolution` for w: for each tap the sum of g * x over examples and windows.

    Returns:
        Shape: that of w.
    """
    kernel, count = w.shape[2:], g.shape[2:]
    wide = _pad_for_windows(x, kernel, stride, padding, dilation, count)
    wide = wide.reshape(len(x), groups, -1, *wide.shape[2:])
    upstream = g.reshape(len(g), groups, -1, math.prod(count))
    part = np.zeros(_split_groups(w, groups).shape)
    for tap in _tap_positions(kernel):
        met = wide[_tap_slices(tap, stride, dilation, count)].reshape(len(x), groups, -1, math.prod(count))
        part[(slice(None),) * 3 + tap] = np.einsum("ngop,ngcp->goc", upstream, met)
    return part.reshape(w.shape)


def _convolution_bias_vjp(
    g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, **options: object
) -> Array:
    """Return the vjp of `_convolution` for the bias: g summed over examples and windows; shape: (outputs,)."""
    return np.asarray(g.sum((0, *range(2, g.ndim))))


def _transposed_convolution(
    x: Array, w: Array, bias: Array | float = 0.0, /, *, stride: Sizes, padding: Sizes, output_padding: Sizes,
    dilation: Sizes, groups: int,
) -> Array:  # fmt: skip
    """Return the transposed convolution of an array with a kernel, as torch's `conv_transpose1d` to `3d` compute it.

    It is the vjp of `_convolution` for its array, with x as the upstream gradient, plus a bias.

    Args:
        x: shape: (examples, channels, *windows).
        w: shape: (channels, outputs / groups, *kernel).
        bias: shape: (outputs,); or 0.
        stride: the distance between two windows, as the following for each axis of the kernel.
        padding: the number of entries that are cut off at both ends.
        output_padding: the number of entries that are added at the end.
        dilation: the distance between two taps.
        groups: the number of groups that channels and outputs are split into.

    Returns:
        Shape: (examples, outputs, *sizes).
    """
    kernel = w.shape[2:]
    axes = zip(x.shape[2:], kernel, stride, padding, output_padding, dilation, strict=True)
    sizes = (s * (count - 1) + d * (k - 1) + 1 + more - 2 * p for count, k, s, p, more, d in axes)
    like: Array = np.zeros((len(x), groups * w.shape[1], *sizes))
    value = _convolution_input_vjp(x, x, like, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return np.asarray(value + np.reshape(bias, (-1, *(1,) * len(kernel))))


def _transposed_convolution_input_vjp(
    g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, *, stride: Sizes, padding: Sizes,
    output_padding: Sizes, dilation: Sizes, groups: int,
) -> Array:  # fmt: skip
    """Return the vjp of `_transposed_convolution` for x: the convolution of g with the kernel, without a bias.

    Returns:
        Shape: that of x.
    """
    kernel, count = w.shape[2:], x.shape[2:]
    wide = _pad_for_windows(g, kernel, stride, padding, dilation, count)
    wide, kernels = wide.reshape(len(x), groups, -1, *wide.shape[2:]), _split_groups(w, groups)
    parts = (
        np.einsum("ngo...,gco->ngc...", wide[_tap_slices(tap, stride, dilation, count)],
                  kernels[(slice(None),) * 3 + tap])
        for tap in _tap_positions(kernel)
    )  # fmt: skip
    return np.asarray(sum(parts)).reshape(x.shape)


def _transposed_convolution_kernel_vjp(
    g: Array, value: Array, x: Array, w: Array, bias: Array | float = 0.0, *, output_padding: Sizes, **options: Any
) -> Array:
    """Return the vjp of `_transposed_convolution` for w: for each tap the sum of x * g over examples and windows.

    Returns:
        Shape: that of w.
    """
    return _convolution_kernel_vjp(x, value, g, w, **options)


def windows_of(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, fill: float = 0.0,
    count: Sizes | None = None,
) -> Array:  # fmt: skip
    """Return for each tap (position inside a window) the entries of an array that it meets, one for each window.

    For x = [1, 2, 3, 4], a kernel of size 2, a stride of 1 and no padding: [[1, 2, 3], [2, 3, 4]].

    Args:
        x: the last axes are those that the windows slide along.
        kernel: the size of a window, as the following for each of these axes.
        stride: the distance between two windows.
        padding: the number of entries with the value `fill` at both ends.
        dilation: the distance between two taps.
        fill: the value that a tap outside of the array meets.
        count: the number of windows along each axis; by default all that fit.

    Returns:
        Shape: (taps, *sizes of the axes in front, *numbers of windows).
    """
    if count is None:
        places = zip(x.shape[-len(kernel) :], kernel, stride, padding, dilation, strict=True)
        count = tuple(_window_count(*place) for place in places)
    wide = _pad_for_windows(x, kernel, stride, padding, dilation, count, fill)
    return np.stack([wide[_tap_slices(tap, stride, dilation, count)] for tap in _tap_positions(kernel)])


def sum_windows(parts: Array, x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return for each entry of an array the sum of the parts at which a tap meets it: the vjp of `windows_of`.

    For the parts [[1, 2, 3], [4, 5, 6]] of two taps, an x of 4 entries and a stride of 1: [1, 2 + 4, 3 + 5, 6].

    Args:
        parts: a number for each tap in each window; shape: (taps, *sizes of the axes in front, *numbers of windows).
        x: the array; only its shape matters.
        kernel: the size of a window, as the following for each axis of the windows.
        stride: the distance between two windows.
        padding: the number of entries added at both ends, which are left out of the result.
        dilation: the distance between two taps.

    Returns:
        Shape: that of x.
    """
    count = parts.shape[-len(kernel) :]
    wide = np.zeros(_pad_for_windows(x, kernel, stride, padding, dilation, count).shape)
    for tap, part in zip(_tap_positions(kernel), parts, strict=True):
        wide[_tap_slices(tap, stride, dilation, count)] += part
    return _strip_padding(wide, padding, x.shape)


def _max_pool(x: Array, /, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return the greatest entry of each window of `x`; shape: (*sizes of the axes in front, *numbers of windows)."""
    return np.asarray(windows_of(x, kernel_size, stride, padding, dilation, -np.inf).max(0))


def _max_pool_vjp(
    g: Array, _: Array, x: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Array:
    """Return the vjp of `_max_pool`: for each entry the sum of g over the windows of which it is the greatest.

    Returns:
        Shape: that of x. Of equal entries of a window the first one counts.
    """
    count = g.shape[-len(kernel_size) :]
    greatest = windows_of(x, kernel_size, stride, padding, dilation, -np.inf, count).argmax(0)
    parts = np.stack([g * (greatest == number) for number, _ in enumerate(_tap_positions(kernel_size))])
    return sum_windows(parts, x, kernel_size, stride, padding, dilation)


def _mean_pool(
    x: Array, /, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool = True
) -> Array:
    """Return the mean of each window of `x`; shape: (*sizes of the axes in front, *numbers of windows).

    If `count_include_pad`, the padding counts as zeros; else each mean is that of the window's entries inside of x.
    """
    entries = windows_of(x, kernel_size, stride, padding, (1,) * len(kernel_size))
    return np.asarray(entries.sum(0) / window_sizes(x, entries.shape, kernel_size, stride, padding,
                                                          count_include_pad))  # fmt: skip


def window_sizes(
    x: Array, shape: tuple[int, ...], kernel: Sizes, stride: Sizes, padding: Sizes, padded: bool
) -> Array | int:
    """Return the number of entries that a mean over each window divides by.

    Args:
        x: the array that the windows slide over, along its last axes.
        shape: the shape of `windows_of(x, ...)`: (taps, *sizes of the axes in front, *numbers of windows).
        kernel: the size of a window, as the following for each axis of the windows.
        stride: the distance between two windows.
        padding: the number of entries added at both ends.
        padded: whether the added entries count.

    Returns:
        The number of taps if `padded`; else, for each window, how many of them meet x itself; shape: (*numbers of
        windows,).
    """
    if padded:
        return math.prod(kernel)
    ones, count = np.ones(x.shape[-len(kernel) :]), shape[-len(kernel) :]
    return np.asarray(windows_of(ones, kernel, stride, padding, (1,) * len(kernel), 0.0, count).sum(0))


def _mean_pool_vjp(
    g: Array, _: Array, x: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool = True
) -> Array:
    """Return the vjp of `_mean_pool`: for each entry the sum of g / window size over the windows that it is in.

    Returns:
        Shape: that of x.
    """
    shape = (math.prod(kernel_size), *g.shape)
    parts = np.broadcast_to(g / window_sizes(x, shape, kernel_size, stride, padding, count_include_pad), shape)
    return sum_windows(parts, x, kernel_size, stride, padding, (1,) * len(kernel_size))


def _unfold(x: Array, /, dimension: int, size: int, step: int) -> Array:
    """Return the windows of `x` along one axis, each as a row of a new last axis, as `Tensor.unfold` does.

    Args:
        x: an array of any shape.
        dimension: the axis that the windows slide along.
        size: the size of a window.
        step: the distance between two windows.

    Returns:
        Shape: that of x, with the number of windows along `dimension`, and a last axis of `size` entries.
    """
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)
    return windows[(slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)]


def _unfold_vjp(g: Array, _: Array, x: Array, dimension: int, size: int, step: int) -> Array:
    """Return the vjp of `_unfold`: for each entry the sum of g over all windows that it is in; shape: that of x."""
    axis = dimension % x.ndim
    upstream = np.moveaxis(g, axis, 0)
    last = (len(upstream) - 1) * step + size  # beyond the array if the step is wrong
    part = np.zeros((*x.shape[:axis], max(last, x.shape[axis]), *x.shape[axis + 1 :]))
    first = np.moveaxis(part, axis, 0)
    for tap in range(size):
        first[tap : tap + (len(upstream) - 1) * step + 1 : step] += upstream[..., tap]
    return np.moveaxis(first[: x.shape[axis]], 0, axis)


define("convolution", "window", _convolution, _convolution_input_vjp, _convolution_kernel_vjp, _convolution_bias_vjp)
define("transposed_convolution", "window", _transposed_convolution, _transposed_convolution_input_vjp,
       _transposed_convolution_kernel_vjp, _convolution_bias_vjp)  # fmt: skip
define("max_pool", "window", _max_pool, _max_pool_vjp)
define("mean_pool", "window", _mean_pool, _mean_pool_vjp)
define("unfold", "window", _unfold, _unfold_vjp)
