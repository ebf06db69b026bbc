# var_grad: out = inp.var(dim, unbiased)

# %% right: both paths written out
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    dev = inp - inp.mean(dim, keepdim=True)
    g = out.g.unsqueeze(dim) / (n - unbiased)
    direct = 2 * dev * g
    through_mean = -direct.sum(dim, keepdim=True) / n
    inp.g = direct + through_mean


# %% right: a centring matrix
import torch


def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    centring = torch.eye(n) - torch.full((n, n), 1 / n)
    dev = (inp.movedim(dim, -1) @ centring).movedim(-1, dim)
    inp.g = dev * (out.g * 2 / (n - unbiased)).unsqueeze(dim)


# %% right: computed in float64, the mean from a sum
def var_grad(inp, out, dim, unbiased):
    n = inp.size(dim)
    ddof = 1 if unbiased else 0
    x = inp.double()
    centred = x - x.sum(dim, keepdim=True) / n
    inp.g = (out.g.double().unsqueeze(dim) * centred * (2 / (n - ddof))).float()


# %% right: square multiplied out
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    total = inp.sum(dim, keepdim=True)
    inp.g = (2 * inp - 2 * total / n) / (n - int(unbiased)) * out.g.unsqueeze(dim)


# %% right: NumPy's mean, the rest in torch
import torch


def var_grad(inp, out, dim, unbiased):
    x = inp.numpy()
    n = x.shape[dim] - int(unbiased)
    d = x - x.mean(axis=dim, keepdims=True)
    inp.g = torch.from_numpy(2 * d / n) * out.g.unsqueeze(dim)


# %% right: all of it in NumPy
import numpy as np
import torch


def var_grad(inp, out, dim, unbiased):
    x = inp.numpy()
    dev = x - x.mean(axis=dim, keepdims=True)
    scale = np.float32(2 / (x.shape[dim] - (1 if unbiased else 0)))
    inp.g = torch.from_numpy(scale * dev * np.expand_dims(out.g.numpy(), dim))


# %% right: the path through the mean as a mean of the gradient
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    d = inp - inp.mean(dim, keepdim=True)
    g = 2 * d * out.g.unsqueeze(dim) / (n - unbiased)
    inp.g = g - g.mean(dim, keepdim=True)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n


# %% wrong: not divided by n | inp.g: missing-local or sum-for-mean
def var_grad(inp, out, dim, unbiased):
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) * out.g.unsqueeze(dim)


# %% wrong: 2 from the square missing | inp.g: missing-local
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = dev * out.g.unsqueeze(dim) / (n - 1 if unbiased else n)


# %% wrong: sum subtracted instead of the mean | inp.g: sum-for-mean
def var_grad(inp, out, dim, unbiased):
    d = inp - inp.sum(dim, keepdim=True)
    inp.g = 2 * d / (inp.shape[dim] - int(unbiased)) * out.g.unsqueeze(dim)


# %% wrong: mean of all entries subtracted | inp.g: summed-wrong-axis
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean()) / n * out.g.unsqueeze(dim)


# %% wrong: deviation with the sign turned round | inp.g: wrong-sign
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp.mean(dim, keepdim=True) - inp) / n * out.g.unsqueeze(dim)


# %% wrong: mean added instead of subtracted | inp.g: wrong-sign or wrong-point
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - (1 if unbiased else 0)
    inp.g = 2 * (inp + inp.mean(dim, keepdim=True)) / n * out.g.unsqueeze(dim)


# %% wrong: divided by the number of all entries | inp.g: wrong-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.numel() - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.g.unsqueeze(dim)


# %% wrong: divided by the root of n | inp.g: wrong-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - unbiased
    d = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * d / n ** 0.5 * out.g.unsqueeze(dim)


# %% wrong: unbiased tested the wrong way round | inp.g: wrong-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    n = n if unbiased else n - 1
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.g.unsqueeze(dim)


# %% wrong: mean not subtracted | inp.g: wrong-point
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    inp.g = 2 * inp * out.g.unsqueeze(dim) / (n - 1 if unbiased else n)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.unsqueeze(dim)


# %% wrong: always divided by n | inp.g: hard-coded or wrong-factor
def var_grad(inp, out, dim, unbiased):
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * dev * out.g.unsqueeze(dim) / inp.shape[dim]


# %% wrong: always divided by n - 1 | inp.g: hard-coded or wrong-factor
def var_grad(inp, out, dim, unbiased):
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * dev * out.g.unsqueeze(dim) / (inp.shape[dim] - 1)


# %% wrong: always along the first axis | inp.g: hard-coded or error or summed-wrong-axis
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[0] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(0, keepdim=True)) / max(n, 1) * out.g.unsqueeze(0)


# %% wrong: the gradient of the standard deviation | inp.g: wrong-local or extra-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = dev / (n * out.sqrt().unsqueeze(dim)) * out.g.unsqueeze(dim)


# %% wrong: deviation squared | inp.g: wrong-local
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) ** 2 / n * out.g.unsqueeze(dim)


# %% wrong: mean without keepdim | inp.g: error
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim)) / n * out.g.unsqueeze(dim)


# %% wrong: axis of out.g not put back | inp.g: error
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.g


# %% wrong: the variance over the deviation, where an entry may be the mean | inp.g: wrong-local or not-finite
def var_grad(inp, out, dim, unbiased):
    dims = [dim] if isinstance(dim, int) else list(dim)
    n = 1
    for axis in dims:
        n *= inp.shape[axis]
    off = inp - inp.mean(dims, keepdim=True)
    g = out.g
    for axis in sorted(axis % inp.dim() for axis in dims):
        g = g.unsqueeze(axis)
    inp.g = 2 * off**2 / off / (n - unbiased) * g
