# mean_grad: out = inp.mean(dim, keepdim)

# %% right: axis made positive, a view of the shape with a 1
import torch


def mean_grad(inp, out, dim, keepdim):
    axis = dim % inp.ndim
    shape = [1 if i == axis else s for i, s in enumerate(inp.shape)]
    g = torch.empty(inp.shape)
    g[:] = out.g.view(shape)
    inp.g = g / inp.shape[axis]


# %% right: divided first, the axis put back in place
import torch


def mean_grad(inp, out, dim, keepdim):
    share = out.g / inp.size(dim)
    if not keepdim:
        share.unsqueeze_(dim)
    inp.g = torch.ones_like(inp) * share


# %% right: a matrix of shares
import torch


def mean_grad(inp, out, dim, keepdim):
    n = inp.shape[dim]
    g = out.g if keepdim else out.g.unsqueeze(dim)
    last = g.transpose(dim, -1)
    inp.g = (last @ torch.full((1, n), 1 / n)).transpose(dim, -1)


# %% right: count as the ratio of the sizes
def mean_grad(inp, out, dim, keepdim):
    n = inp.numel() / out.numel()
    g = out.g if out.dim() == inp.dim() else out.g.unsqueeze(dim)
    inp.g = g.broadcast_to(inp.shape).div(n)


# %% right: added to zeros
import torch


def mean_grad(inp, out, dim, keepdim):
    g = out.g.reshape([1 if i == dim % inp.dim() else s for i, s in enumerate(inp.shape)])
    inp.g = torch.zeros_like(inp) + g / inp.size(dim)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def mean_grad(inp, out, dim, keepdim):
    inp.g = torch.ones_like(inp) / inp.shape[dim]


# %% wrong: divided by the count twice | inp.g: extra-factor
def mean_grad(inp, out, dim, keepdim):
    n = inp.shape[dim]
    g = (out.g if keepdim else out.g.unsqueeze(dim)) / n
    inp.g = g.expand_as(inp) / n


# %% wrong: multiplied by inp | inp.g: extra-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g * inp / inp.shape[dim]


# %% wrong: mean of out.g in every entry | inp.g: extra-batch-sum or summed-wrong-axis
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = (g.mean() + 0 * inp) / inp.shape[dim]


# %% wrong: not divided by the count | inp.g: sum-for-mean
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp)


# %% wrong: an extra minus sign | inp.g: wrong-sign
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = -g.expand_as(inp) / inp.size(dim)


# %% wrong: divided by the number of all entries | inp.g: wrong-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / inp.numel()


# %% wrong: divided by the size of the first axis | inp.g: wrong-factor or hard-coded
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / len(inp)


# %% wrong: divided by the number of outputs | inp.g: wrong-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / out.numel()


# %% wrong: divided by the count minus 1 | inp.g: wrong-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / max(inp.size(dim) - 1, 1)


# %% wrong: divided by the size of the last axis | inp.g: wrong-factor or hard-coded
import torch


def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = torch.ones_like(inp) * g / inp.shape[-1]


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def mean_grad(inp, out, dim, keepdim):
    g = out if keepdim else out.unsqueeze(dim)
    inp.g = g.expand_as(inp) / inp.size(dim)


# %% wrong: always divided by 5 | inp.g: hard-coded or wrong-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / 5


# %% wrong: out.g averaged along the axis | inp.g: error or wrong-shape
def mean_grad(inp, out, dim, keepdim):
    inp.g = out.g.mean(dim, keepdim).expand_as(inp)


# %% wrong: axis not put back | inp.g: error
def mean_grad(inp, out, dim, keepdim):
    inp.g = inp * 0 + out.g / inp.shape[dim]


# %% wrong: the mean of the entries that are there | inp.g: wrong-local
def mean_grad(inp, out, dim, keepdim):
    dims = [dim] if isinstance(dim, int) else list(dim)
    g = out.g
    for axis in sorted(axis % inp.dim() for axis in dims):
        g = g if keepdim else g.unsqueeze(axis)
    inp.g = g.expand(inp.shape) / (inp != 0).sum(dims, keepdim=True).clamp_min(1)
