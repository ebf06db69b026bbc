"""Operations on windows of an array: convolutions, pooling and unfolding, in any number of axes.

Everything goes tap by tap: for one place inside the window, the entries of the array that it meets are a strided piece
of the array. A tap that lies outside meets zeros, and what an upstream gradient has beyond the last window is left
out, so that each rule can be computed with a wrong stride, dilation or padding as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .operation import Array, define

Sizes = tuple[int, ...]


def _taps(kernel: Sequence[int]) -> Iterator[Sizes]:
    """Yield every place inside a window."""
    return itertools.product(*map(range, kernel))


def _window_count(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many windows fit along an axis."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _widened(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, count: Sizes,
             fill: float = 0.0) -> Array:  # fmt: skip
    """Return an array padded on its last axes so far that `count` windows fit."""
    sizes = zip(x.shape[-len(kernel) :], kernel, stride, padding, dilation, count, strict=True)
    behind = [max((c - 1) * s + d * (k - 1) + 1 - size - p, 0) for size, k, s, p, d, c in sizes]
    widths = [(0, 0)] * (x.ndim - len(kernel)) + list(zip(padding, behind, strict=True))
    return np.pad(x, widths, constant_values=fill)


def _tap_slices(tap: Sizes, stride: Sizes, dilation: Sizes, count: Sizes) -> tuple[Any, ...]:
    """Return the index of the entries of a widened array that one tap of all windows meets."""
    starts = [t * d for t, d in zip(tap, dilation, strict=True)]
    slices: list[slice] = [slice(a, a + (c - 1) * s + 1, s) for a, s, c in zip(starts, stride, count, strict=True)]
    return (Ellipsis, *slices)


def _narrowed(wide: Array, padding: Sizes, shape: Sizes) -> Array:
    """Return the part of a widened array that is the array itself; its last axes have the sizes of `shape`."""
    sizes = shape[-len(padding) :]
    missing = [max(p + n - size, 0) for p, n, size in zip(padding, sizes, wide.shape[-len(padding) :], strict=True)]
    if any(missing):
        wide = np.pad(wide, [(0, 0)] * (wide.ndim - len(padding)) + [(0, more) for more in missing])
    own: list[slice] = [slice(p, p + n) for p, n in zip(padding, sizes, strict=True)]
    index: tuple[Any, ...] = (Ellipsis, *own)
    return np.asarray(wide[index])


def _by_groups(w: Array, groups: int) -> Array:
    """Return a kernel with an axis for its groups; shape: (groups, outputs of a group, inputs of a group, *kernel)."""
    return w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def _convolution(
    x: Array, w: Array, bias: Array | float = 0.0, /, *, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return a cross-correlation, as torch's `conv1d` to `conv3d` compute it.

    Args:
        x: shape: (examples, channels, *sizes).
        w: shape: (outputs, channels / groups, *kernel).
        bias: shape: (outputs,); or 0.
        stride: for each axis of the kernel, as the following are.
        padding: zeros at both ends.
        dilation: the distance between two taps.
        groups: the number of groups that channels and outputs are split into.
    """
    kernel = w.shape[2:]
    places = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    count = tuple(_window_count(*place) for place in places)
    if min(count) < 1:
        raise ValueError("the kernel is larger than the array")
    wide = _widened(x, kernel, stride, padding, dilation, count)
    wide = wide.reshape(len(x), groups, -1, *wide.shape[2:])
    kernels = _by_groups(w, groups)
    value = sum(
        np.einsum("ngc...,goc->ngo...", wide[_tap_slices(tap, stride, dilation, count)],
                  kernels[(slice(None),) * 3 + tap])
        for tap in _taps(kernel)
    )  # fmt: skip
    return np.asarray(np.reshape(value, (len(x), -1, *count)) + np.reshape(bias, (-1, *(1,) * len(kernel))))


def _convolution_input_vjp(g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, *, stride: Sizes,
                           padding: Sizes, dilation: Sizes, groups: int) -> Array:  # fmt: skip
    """Return the sum over the taps of the gradient times the kernel; shape: that of x."""
    kernel, count = w.shape[2:], g.shape[2:]
    wide: Array = np.zeros(_widened(x, kernel, stride, padding, dilation, count).shape)
    wide = wide.reshape(len(x), groups, -1, *wide.shape[2:])
    upstream, kernels = g.reshape(len(g), groups, -1, *count), _by_groups(w, groups)
    for tap in _taps(kernel):
        part = np.einsum("ngo...,goc->ngc...", upstream, kernels[(slice(None),) * 3 + tap])
        wide[_tap_slices(tap, stride, dilation, count)] += part
    return _narrowed(wide.reshape(len(x), -1, *wide.shape[3:]), padding, x.shape)


def _convolution_kernel_vjp(g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, *, stride: Sizes,
                            padding: Sizes, dilation: Sizes, groups: int) -> Array:  # fmt: skip
    """Return for each tap the sum of the gradient times the entries that it met; shape: that of w."""
    kernel, count = w.shape[2:], g.shape[2:]
    wide = _widened(x, kernel, stride, padding, dilation, count)
    wide = wide.reshape(len(x), groups, -1, *wide.shape[2:])
    upstream = g.reshape(len(g), groups, -1, math.prod(count))
    part = np.zeros(_by_groups(w, groups).shape)
    for tap in _taps(kernel):
        met = wide[_tap_slices(tap, stride, dilation, count)].reshape(len(x), groups, -1, math.prod(count))
        part[(slice(None),) * 3 + tap] = np.einsum("ngop,ngcp->goc", upstream, met)
    return part.reshape(w.shape)


def _convolution_bias_vjp(
    g: Array, _: Array, x: Array, w: Array, bias: Array | float = 0.0, **options: object
) -> Array:
    """Return the gradient summed over examples and windows; shape: (outputs,)."""
    return np.asarray(g.sum((0, *range(2, g.ndim))))


def _transposed_convolution(
    x: Array, w: Array, bias: Array | float = 0.0, /, *, stride: Sizes, padding: Sizes, output_padding: Sizes,
    dilation: Sizes, groups: int,
) -> Array:  # fmt: skip
    """Return what a convolution contributes to its array, as torch's `conv_transpose1d` to `conv_transpose3d` do.

    Args:
        x: shape: (examples, channels, *windows).
        w: shape: (channels, outputs / groups, *kernel).
        bias: shape: (outputs,); or 0.
        stride: for each axis of the kernel, as the following are.
        padding: what is cut off at both ends.
        output_padding: what is added at the end.
        dilation: the distance between two taps.
        groups: the number of groups that channels and outputs are split into.
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
    """Return the gradient of the windows that each entry was spread over times the kernel; shape: that of x."""
    kernel, count = w.shape[2:], x.shape[2:]
    wide = _widened(g, kernel, stride, padding, dilation, count)
    wide, kernels = wide.reshape(len(x), groups, -1, *wide.shape[2:]), _by_groups(w, groups)
    parts = (
        np.einsum("ngo...,gco->ngc...", wide[_tap_slices(tap, stride, dilation, count)],
                  kernels[(slice(None),) * 3 + tap])
        for tap in _taps(kernel)
    )  # fmt: skip
    return np.asarray(sum(parts)).reshape(x.shape)


def _transposed_convolution_kernel_vjp(
    g: Array, value: Array, x: Array, w: Array, bias: Array | float = 0.0, *, output_padding: Sizes, **options: Any
) -> Array:
    """Return for each tap the sum of the entries times the gradient that it met; shape: that of w."""
    return _convolution_kernel_vjp(x, value, g, w, **options)


def windows_of(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, fill: float = 0.0,
    count: Sizes | None = None,
) -> Array:  # fmt: skip
    """Return the entries of `count` windows, or of all that fit; shape: (taps, *other axes, *windows).

    Args:
        x: the last axes are those that the windows slide along.
        kernel: for each of these axes the size of a window, as the following are.
        stride: the distance between two windows.
        padding: entries with the value `fill` at both ends.
        dilation: the distance between two taps.
        fill: what a tap outside the array meets.
        count: the number of windows.
    """
    if count is None:
        places = zip(x.shape[-len(kernel) :], kernel, stride, padding, dilation, strict=True)
        count = tuple(_window_count(*place) for place in places)
    wide = _widened(x, kernel, stride, padding, dilation, count, fill)
    return np.stack([wide[_tap_slices(tap, stride, dilation, count)] for tap in _taps(kernel)])


def sum_windows(parts: Array, x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return for each entry of an array the sum of what all windows have for it: the transpose of `windows_of`.

    Args:
        parts: shape: (taps, *other axes, *windows).
        x: the array.
        kernel: for each axis of the windows their size, as the following are.
        stride: the distance between two windows.
        padding: the entries that are added at both ends, and left out of the sum.
        dilation: the distance between two taps.

    Returns:
        Shape: that of x.
    """
    count = parts.shape[-len(kernel) :]
    wide = np.zeros(_widened(x, kernel, stride, padding, dilation, count).shape)
    for tap, part in zip(_taps(kernel), parts, strict=True):
        wide[_tap_slices(tap, stride, dilation, count)] += part
    return _narrowed(wide, padding, x.shape)


def _max_pool(x: Array, /, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return the greatest entry of each window."""
    return np.asarray(windows_of(x, kernel_size, stride, padding, dilation, -np.inf).max(0))


def _max_pool_vjp(
    g: Array, _: Array, x: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Array:
    """Return the gradient at the first greatest entry of each window."""
    count = g.shape[-len(kernel_size) :]
    greatest = windows_of(x, kernel_size, stride, padding, dilation, -np.inf, count).argmax(0)
    parts = np.stack([g * (greatest == number) for number, _ in enumerate(_taps(kernel_size))])
    return sum_windows(parts, x, kernel_size, stride, padding, dilation)


def _mean_pool(
    x: Array, /, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool = True
) -> Array:
    """Return the mean of each window; the padding counts as zeros, or not at all."""
    entries = windows_of(x, kernel_size, stride, padding, (1,) * len(kernel_size))
    return np.asarray(entries.sum(0) / entries_of_windows(x, entries.shape, kernel_size, stride, padding,
                                                          count_include_pad))  # fmt: skip


def entries_of_windows(
    x: Array, shape: tuple[int, ...], kernel: Sizes, stride: Sizes, padding: Sizes, padded: bool
) -> Array | int:
    """Return how many entries each window has.

    Args:
        x: the array.
        shape: (taps, *other axes, *windows).
        kernel: for each axis of the windows their size, as the following are.
        stride: the distance between two windows.
        padding: the entries that are added at both ends.
        padded: whether these count.
    """
    if padded:
        return math.prod(kernel)
    ones, count = np.ones(x.shape[-len(kernel) :]), shape[-len(kernel) :]
    return np.asarray(windows_of(ones, kernel, stride, padding, (1,) * len(kernel), 0.0, count).sum(0))


def _mean_pool_vjp(
    g: Array, _: Array, x: Array, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool = True
) -> Array:
    """Return the gradient shared equally by the entries of each window; shape: that of x."""
    shape = (math.prod(kernel_size), *g.shape)
    parts = np.broadcast_to(g / entries_of_windows(x, shape, kernel_size, stride, padding, count_include_pad), shape)
    return sum_windows(parts, x, kernel_size, stride, padding, (1,) * len(kernel_size))


def _unfold(x: Array, /, dimension: int, size: int, step: int) -> Array:
    """Return windows along one axis, which become the last axis, as `Tensor.unfold` has it."""
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)
    return windows[(slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)]


def _unfold_vjp(g: Array, _: Array, x: Array, dimension: int, size: int, step: int) -> Array:
    """Return the sum of the gradient over all windows that an entry is in; shape: that of x."""
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
