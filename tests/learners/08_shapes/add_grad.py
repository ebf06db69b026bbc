# add_grad: out = a + b, with broadcasting

# %% right: a helper in float64
def add_grad(a, b, out):
    def back(t):
        g = out.g.double()
        for axis in range(out.dim() - t.dim()):
            g = g.sum(axis, keepdim=True)
        g = g.flatten(0, out.dim() - t.dim()) if out.dim() > t.dim() else g
        for axis in range(t.dim()):
            if t.shape[axis] < g.shape[axis]:
                g = g.sum(axis, keepdim=True)
        return g.float()

    a.g, b.g = back(a), back(b)


# %% right: index_add into the place of each entry
import torch


def add_grad(a, b, out):
    for t in (a, b):
        places = torch.arange(t.numel()).reshape(t.shape).expand(out.shape)
        t.g = torch.zeros(t.numel()).index_add(0, places.flatten(), out.g.flatten()).reshape(t.shape)


# %% right: NumPy's sum over several axes
import numpy as np
import torch


def add_grad(a, b, out):
    g = out.g.numpy()
    for t in (a, b):
        new = g.ndim - t.dim()
        axes = tuple(range(new)) + tuple(new + i for i in range(t.dim()) if t.shape[i] == 1)
        t.g = torch.tensor(np.sum(g, axis=axes, keepdims=True).reshape(tuple(t.shape)))


# %% right: means scaled back to sums
def add_grad(a, b, out):
    for x in (a, b):
        g = out.g
        while g.dim() > x.dim():
            g = g.mean(0) * g.shape[0]
        for axis in range(x.dim()):
            if x.shape[axis] < g.shape[axis]:
                g = g.sum(axis, keepdim=True)
        x.g = g


# %% right: the helper unbroadcast
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


def add_grad(a, b, out):
    a.g = unbroadcast(out.g, a.shape)
    b.g = unbroadcast(out.g, b.shape)


# %% wrong: copies averaged instead of summed in a.g | a.g: mean-for-sum
def add_grad(a, b, out):
    count = out.numel() / a.numel()
    a.g = out.g.sum_to_size(a.shape) / count
    b.g = out.g.sum_to_size(b.shape)


# %% wrong: minus sign in b.g, as for a difference | b.g: wrong-sign
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = -out.g.sum_to_size(b.shape)


# %% wrong: a.g copied into b.g | b.g: wrong-operand
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = a.g


# %% wrong: a multiplied into b.g, as for a product | b.g: wrong-local or extra-factor
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: ones in place of out.g | a.g, b.g: missing-upstream
import torch


def add_grad(a, b, out):
    g = torch.ones_like(out)
    a.g = g.sum_to_size(a.shape)
    b.g = g.sum_to_size(b.shape)


# %% wrong: out.g for both, nothing summed | a.g, b.g: missing-batch-sum
def add_grad(a, b, out):
    a.g = out.g
    b.g = out.g


# %% wrong: a.g not summed, b.g always summed over the first axis | a.g: missing-batch-sum; b.g: missing-batch-sum or wrong-shape or summed-wrong-axis
def add_grad(a, b, out):
    a.g = out.g
    b.g = out.g.sum(0)


# %% wrong: only new axes summed | a.g, b.g: missing-batch-sum
def add_grad(a, b, out):
    for t in (a, b):
        g = out.g
        while g.dim() > t.dim():
            g = g.sum(0)
        t.g = g


# %% wrong: only the last copy | a.g, b.g: partial-batch
def add_grad(a, b, out):
    for t in (a, b):
        g = out.g
        while g.dim() > t.dim():
            g = g[-1]
        for i, s in enumerate(t.shape):
            if s == 1:
                g = g.narrow(i, g.shape[i] - 1, 1)
        t.g = g.clone()


# %% wrong: copies averaged instead of summed, in both | a.g, b.g: mean-for-sum
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.mean(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.mean(axis, keepdim=True)
    return g


def add_grad(a, b, out):
    a.g = unbroadcast(out.g, a.shape)
    b.g = unbroadcast(out.g, b.shape)


# %% wrong: shapes of a and b exchanged | a.g, b.g: wrong-operand
def add_grad(a, b, out):
    a.g = out.g.sum_to_size(b.shape)
    b.g = out.g.sum_to_size(a.shape)


# %% wrong: out used in place of out.g | a.g, b.g: value-for-gradient
def add_grad(a, b, out):
    a.g = out.sum_to_size(a.shape)
    b.g = out.sum_to_size(b.shape)


# %% wrong: each multiplied by the other, as for a product | a.g, b.g: wrong-local or extra-factor
def add_grad(a, b, out):
    a.g = (out.g * b).sum_to_size(a.shape)
    b.g = (out.g * a).sum_to_size(b.shape)


# %% wrong: only the first stretched axis summed | a.g: wrong-shape
def add_grad(a, b, out):
    def back(g, t):
        while g.dim() > t.dim():
            g = g.sum(0)
        for i, n in enumerate(t.shape):
            if n == 1 and g.shape[i] != 1:
                return g.sum(i, keepdim=True)
        return g

    a.g = back(out.g, a)
    b.g = back(out.g, b)


# %% wrong: axes of size 1 not kept | a.g, b.g: wrong-shape
def back(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    axes = [i for i, s in enumerate(shape) if s == 1]
    return g.sum(axes) if axes else g


def add_grad(a, b, out):
    a.g = back(out.g, a.shape)
    b.g = back(out.g, b.shape)


# %% wrong: nothing for a summand that is 0 | a.g: wrong-local
def _summed(g, like):
    while g.dim() > like.dim():
        g = g.sum(0)
    for axis in range(like.dim()):
        if like.shape[axis] == 1:
            g = g.sum(axis, keepdim=True)
    return g


def add_grad(a, b, out):
    a.g = _summed(out.g, a) * (a != 0)
    b.g = _summed(out.g, b)
