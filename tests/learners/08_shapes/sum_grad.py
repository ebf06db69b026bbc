# sum_grad: out = inp.sum(dim, keepdim)

# %% right: a product with a column of ones
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    column = torch.ones(inp.shape[dim], 1)
    inp.g = (column @ g.movedim(dim, -1).unsqueeze(-2).reshape(-1, 1, 1)).squeeze(-1)
    inp.g = inp.g.reshape(*g.movedim(dim, -1).shape[:-1], -1).movedim(-1, dim)


# %% right: NumPy's broadcast_to
import numpy as np
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.numpy()
    if not keepdim:
        g = np.expand_dims(g, dim)
    inp.g = torch.from_numpy(np.broadcast_to(g, inp.shape).copy())


# %% right: ones times out.g, the axis put back by unsqueeze
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else torch.unsqueeze(out.g, dim)
    inp.g = torch.ones_like(inp) * g


# %% right: ones times out.g, the axis put back by reshape
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.reshape(inp.sum(dim, keepdim=True).shape)
    inp.g = torch.ones_like(inp) * g


# %% right: shape of a kept sum, then repeat_interleave
def sum_grad(inp, out, dim, keepdim):
    kept = inp.sum(dim, keepdim=True).shape
    inp.g = out.g.reshape(kept).repeat_interleave(inp.shape[dim], dim)


# %% right: a slice for each place, stacked
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.squeeze(dim) if keepdim else out.g
    inp.g = torch.stack([g for _ in range(inp.size(dim))], dim)


# %% right: added to zeros
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g
    if not keepdim:
        g = g.unsqueeze(dim)
    inp.g = torch.zeros_like(inp) + g


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def sum_grad(inp, out, dim, keepdim):
    inp.g = torch.ones_like(inp)


# %% wrong: out.g itself | inp.g: missing-local or wrong-shape
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g


# %% wrong: multiplied by inp | inp.g: extra-factor
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = inp * g


# %% wrong: only the first place along the axis | inp.g: partial-batch
import torch


def sum_grad(inp, out, dim, keepdim):
    inp.g = torch.zeros_like(inp)
    inp.g.select(dim, 0).copy_(out.g.squeeze(dim) if keepdim else out.g)


# %% wrong: divided by the number of all entries | inp.g: mean-for-sum
def sum_grad(inp, out, dim, keepdim):
    if not keepdim:
        out_g = out.g.unsqueeze(dim)
    else:
        out_g = out.g
    inp.g = out_g.expand(*inp.shape) / inp.numel()


# %% wrong: divided by the size of the axis | inp.g: mean-for-sum
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / inp.shape[dim]


# %% wrong: divided by the number of outputs | inp.g: mean-for-sum or wrong-factor
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand(inp.shape) / out.numel()


# %% wrong: an extra minus sign | inp.g: wrong-sign
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = (-g).expand_as(inp)


# %% wrong: multiplied by the size of the axis | inp.g: wrong-factor or extra-factor
def sum_grad(inp, out, dim, keepdim):
    n = inp.shape[dim]
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) * n


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def sum_grad(inp, out, dim, keepdim):
    o = out if keepdim else out.unsqueeze(dim)
    inp.g = o.expand_as(inp).clone()


# %% wrong: axis always put back in front | inp.g: hard-coded or error or shape-special or wrong-shape
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(0)
    inp.g = g.expand_as(inp).clone()


# %% wrong: repeated in the order of memory | inp.g: hard-coded
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.repeat_interleave(inp.shape[dim]).reshape(inp.shape)


# %% wrong: axis put back even where it was kept | inp.g: error
import torch


def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.unsqueeze(dim) * torch.ones_like(inp)


# %% wrong: keepdim tested the wrong way round, times ones | inp.g: error or wrong-shape
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.unsqueeze(dim) if keepdim else out.g
    inp.g = torch.ones_like(inp) * g


# %% wrong: keepdim tested the wrong way round, then expanded | inp.g: error
def sum_grad(inp, out, dim, keepdim):
    g = out.g.unsqueeze(dim) if keepdim else out.g
    inp.g = g.expand_as(inp)


# %% wrong: axis put back by insert, which takes a negative dim otherwise | inp.g: error or hard-coded or shape-special
def sum_grad(inp, out, dim, keepdim):
    shape = list(out.shape)
    if not keepdim:
        shape.insert(dim, 1)
    inp.g = out.g.reshape(shape).expand(inp.shape)


# %% wrong: axis always put back in the middle | inp.g: error or hard-coded
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(1)
    inp.g = g.expand_as(inp)


# %% wrong: axis not put back | inp.g: error
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.expand_as(inp)


# %% wrong: out.g summed along the axis | inp.g: error or wrong-shape
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.sum(dim, keepdim)


# %% wrong: copies always stacked in front | inp.g: wrong-shape or error or hard-coded
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.squeeze(dim) if keepdim else out.g
    inp.g = torch.stack([g] * inp.shape[dim])


# %% wrong: nothing for an addend that is 0 | inp.g: wrong-local
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim) if isinstance(dim, int) else None
    if g is None:
        g = out.g
        for axis in sorted(axis % inp.dim() for axis in dim):
            g = g.unsqueeze(axis)
    inp.g = g.expand(inp.shape) * (inp != 0)


# %% wrong: whole copies, one after the other | inp.g: reshape-for-transpose or broadcast-accident
def sum_grad(inp, out, dim, keepdim):
    flat = out.g.flatten()
    inp.g = flat.repeat(inp.numel() // flat.numel()).view_as(inp)
