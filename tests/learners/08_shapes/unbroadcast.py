# unbroadcast: x of this shape, expanded to the shape of g

# %% right: all axes at once, then reshaped
def unbroadcast(g, shape):
    new = g.ndim - len(shape)
    stretched = [new + i for i, s in enumerate(shape) if s == 1 and g.shape[new + i] != 1]
    axes = list(range(new)) + stretched
    return g.sum(axes).reshape(shape) if axes else g


# %% right: a loop over all entries
import itertools

import torch


def unbroadcast(g, shape):
    total = torch.zeros(shape)
    new = g.dim() - len(shape)
    for index in itertools.product(*map(range, g.shape)):
        home = tuple(0 if s == 1 else i for i, s in zip(index[new:], shape))
        total[home] += g[index]
    return total


# %% right: NumPy's sum over several axes
import numpy as np
import torch


def unbroadcast(g, shape):
    a = g.numpy()
    padded = (1,) * (a.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, s in enumerate(padded) if s == 1)
    return torch.from_numpy(np.sum(a, axis=axes, keepdims=True).reshape(shape))


# %% right: one axis at a time, by recursion
def unbroadcast(g, shape):
    if g.dim() > len(shape):
        return unbroadcast(g.sum(0), shape)
    for axis in range(g.dim()):
        if g.shape[axis] != shape[axis]:
            return unbroadcast(g.sum(axis, keepdim=True), shape)
    return g


# %% right: shape padded with ones, then sum_to_size
import torch

def unbroadcast(g, shape):
    full = (1,) * (g.dim() - len(shape)) + tuple(shape)
    return g.sum_to_size(full).reshape(shape)


# %% right: shape padded with ones, then one sum
def unbroadcast(g, shape):
    padded = (1,) * (g.dim() - len(shape)) + tuple(shape)
    axes = [i for i, size in enumerate(padded) if size == 1]
    return (g.sum(axes, keepdim=True) if axes else g).reshape(shape)


# %% right: sum_to_size
def unbroadcast(g, shape):
    return g.sum_to_size(shape)


# %% right: a tuple of axes, kept and reshaped
def unbroadcast(g, shape):
    lead = g.dim() - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1)
    return g.sum(axes, keepdim=True).reshape(shape) if axes else g


# %% wrong: upstream gradient missing | return: missing-upstream
import torch


def unbroadcast(g, shape):
    return torch.ones(g.shape).sum_to_size(shape)


# %% wrong: always the first axis | return: missing-batch-sum or wrong-shape or summed-wrong-axis
def unbroadcast(g, shape):
    return g.sum(0)


# %% wrong: nothing summed | return: missing-batch-sum
def unbroadcast(g, shape):
    return g


# %% wrong: only one new axis summed | return: missing-batch-sum or wrong-shape
def unbroadcast(g, shape):
    if g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1 and axis < g.dim():
            g = g.sum(axis, keepdim=True)
    return g


# %% wrong: only new axes summed | return: missing-batch-sum
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    return g


# %% wrong: only stretched axes summed | return: missing-batch-sum
def unbroadcast(g, shape):
    new = g.dim() - len(shape)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(new + axis, keepdim=True)
    return g


# %% wrong: only the first copy | return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g[0]
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.narrow(axis, 0, 1)
    return g


# %% wrong: only the first copy along new axes | return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g[0]
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


# %% wrong: largest copy instead of the sum | return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.amax(0)
    for i, s in enumerate(shape):
        if s == 1:
            g = g.amax(i, keepdim=True)
    return g


# %% wrong: only the first copy along stretched axes | return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.narrow(axis, 0, 1)
    return g


# %% wrong: copies averaged instead of summed | return: mean-for-sum
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.mean(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.mean(axis, keepdim=True)
    return g


# %% wrong: new axes summed from the back | return: summed-wrong-axis or wrong-shape
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(-1)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


# %% wrong: reshaped before the sum | return: summed-wrong-axis or reshape-for-transpose
def unbroadcast(g, shape):
    n = 1
    for s in shape:
        n *= s
    return g.reshape(-1, n).sum(0).reshape(shape)


# %% wrong: total in every entry | return: summed-wrong-axis or extra-batch-sum
def unbroadcast(g, shape):
    return g.sum().expand(shape)


# %% wrong: reshaped instead of summed | return: error
def unbroadcast(g, shape):
    return g.reshape(shape)


# %% wrong: shapes compared from the left | return: error
def unbroadcast(g, shape):
    axes = [i for i, (a, b) in enumerate(zip(g.shape, shape)) if a != b]
    return g.sum(axes).reshape(shape)


# %% wrong: nothing returned | return: missing-answer
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)


# %% wrong: only the first stretched axis summed | return: wrong-shape
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            return g.sum(i, keepdim=True)
    return g


# %% wrong: new axes kept | return: wrong-shape
def unbroadcast(g, shape):
    new = g.dim() - len(shape)
    axes = list(range(new)) + [new + i for i, s in enumerate(shape) if s == 1]
    return g.sum(axes, keepdim=True) if axes else g


# %% wrong: summed to one number | return: wrong-shape or extra-batch-sum or summed-wrong-axis
def unbroadcast(g, shape):
    return g.sum()


# %% wrong: axes of size 1 not kept | return: wrong-shape
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            g = g.sum(axis)
    return g
