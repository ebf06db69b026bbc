# cat_grad: out = torch.cat([a, b], dim)

# %% right: axis moved to the front, cut, and moved back
def cat_grad(a, b, out, dim):
    g = out.g.movedim(dim, 0)
    n = a.movedim(dim, 0).shape[0]
    a.g = g[:n].movedim(0, dim)
    b.g = g[n:].movedim(0, dim)


# %% right: index_select
import torch


def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g = out.g.index_select(dim, torch.arange(n))
    b.g = out.g.index_select(dim, torch.arange(n, out.shape[dim]))


# %% right: narrow
def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g = out.g.narrow(dim, 0, n)
    b.g = out.g.narrow(dim, n, b.shape[dim])


# %% right: NumPy's split
import numpy as np
import torch


def cat_grad(a, b, out, dim):
    first, second = np.split(out.g.numpy(), [a.shape[dim]], axis=dim)
    a.g, b.g = torch.from_numpy(first.copy()), torch.from_numpy(second.copy())


# %% right: a tuple of slices
def cat_grad(a, b, out, dim):
    cut = [slice(None)] * out.dim()
    cut[dim] = slice(None, a.size(dim))
    a.g = out.g[tuple(cut)].clone()
    cut[dim] = slice(a.size(dim), None)
    b.g = out.g[tuple(cut)].clone()


# %% right: split by two sizes
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.split([a.size(dim), b.size(dim)], dim)


# %% wrong: minus sign in b.g | b.g: wrong-sign
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.split([a.shape[dim], b.shape[dim]], dim)
    b.g = -b.g


# %% wrong: both parts taken from the front | b.g: wrong-operand
def cat_grad(a, b, out, dim):
    a.g = out.g.narrow(dim, 0, a.shape[dim])
    b.g = out.g.narrow(dim, 0, b.shape[dim])


# %% wrong: b's part one place too early | b.g: wrong-operand
def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g = out.g.narrow(dim, 0, n)
    b.g = out.g.narrow(dim, n - 1, b.shape[dim])


# %% wrong: ones in place of out.g | a.g, b.g: missing-upstream
import torch


def cat_grad(a, b, out, dim):
    a.g = torch.ones_like(a)
    b.g = torch.ones_like(b)


# %% wrong: out.g for both, not cut | a.g, b.g: missing-local or wrong-shape
def cat_grad(a, b, out, dim):
    a.g = out.g
    b.g = out.g


# %% wrong: b's part taken from the front, a's from behind it | a.g, b.g: wrong-operand
def cat_grad(a, b, out, dim):
    b.g = out.g.narrow(dim, 0, b.shape[dim])
    a.g = out.g.narrow(dim, b.shape[dim], a.shape[dim])


# %% wrong: both parts stored in the other's gradient | a.g, b.g: wrong-operand
def cat_grad(a, b, out, dim):
    b.g, a.g = out.g.split([a.shape[dim], b.shape[dim]], dim)


# %% wrong: out used in place of out.g | a.g, b.g: forward-value or value-for-gradient
def cat_grad(a, b, out, dim):
    a.g, b.g = out.split([a.shape[dim], b.shape[dim]], dim)


# %% wrong: always cut along the first axis | a.g, b.g: hard-coded or wrong-shape
def cat_grad(a, b, out, dim):
    a.g = out.g[: len(a)]
    b.g = out.g[len(a) :]


# %% wrong: always cut along the second axis | a.g, b.g: hard-coded or wrong-shape
def cat_grad(a, b, out, dim):
    a.g = out.g[:, : a.shape[1]]
    b.g = out.g[:, a.shape[1] :]


# %% wrong: negative dim taken as the first axis | *: hard-coded
import torch

def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g, b.g = torch.tensor_split(out.g, [n], dim=0 if dim < 0 else dim)


# %% wrong: cut in the middle | a.g, b.g: shape-special or wrong-shape or hard-coded
def cat_grad(a, b, out, dim):
    half = out.shape[dim] // 2
    a.g = out.g.narrow(dim, 0, half)
    b.g = out.g.narrow(dim, half, out.shape[dim] - half)


# %% wrong: chunk, which cuts in the middle | a.g, b.g: shape-special or wrong-shape
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.chunk(2, dim)


# %% wrong: split by the size of a alone | a.g, b.g: error or wrong-shape
def cat_grad(a, b, out, dim):
    a.g, b.g = out.g.split(a.shape[dim], dim)


# %% wrong: summed to each shape, as for a sum | *: error
def cat_grad(a, b, out, dim):
    a.g = out.g.sum_to_size(a.shape)
    b.g = out.g.sum_to_size(b.shape)


# %% wrong: b's part one place too late | b.g: wrong-shape
def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g = out.g.narrow(dim, 0, n)
    b.g = out.g.narrow(dim, n + 1, out.shape[dim] - n - 1)
