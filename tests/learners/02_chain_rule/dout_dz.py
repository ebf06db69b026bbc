# dout_dz: out = z.mean()

# %% right: full_like
import torch


def dout_dz(z):
    return torch.full_like(z, 1 / z.numel())


# %% right: prod of the sizes, a shape made a tuple
from math import prod
import torch


def dout_dz(z):
    return torch.full(tuple(z.shape), 1 / prod(z.shape))


# %% right: a Python list of shares
import torch


def dout_dz(z):
    n = z.numel()
    values = [1 / n for _ in range(n)]
    return torch.tensor(values).view(*z.shape)


# %% right: softmax of zeros
import torch


def dout_dz(z):
    return (z * 0).flatten().softmax(0).reshape(z.shape)


# %% wrong: not divided by the count | return: missing-local or sum-for-mean
import torch
def dout_dz(z):
    return torch.ones_like(z)


# %% wrong: divided by the count twice | return: extra-factor
import torch


def dout_dz(z):
    g = torch.ones_like(z) / z.numel()
    return g / z.numel()


# %% wrong: mean of z in every entry | return: forward-value
import torch


def dout_dz(z):
    out = z.mean()
    return torch.zeros_like(z) + out


# %% wrong: always 0.25 | return: hard-coded
import torch


def dout_dz(z):
    return torch.ones_like(z) * 0.25


# %% wrong: divided by the number of rows | return: shape-special
import torch


def dout_dz(z):
    return torch.ones_like(z) / len(z)


# %% wrong: numel without its brackets | return: error
import torch


def dout_dz(z):
    return torch.ones_like(z) / z.numel


# %% wrong: a plain float instead of a tensor | return: wrong-type
def dout_dz(z):
    return 1 / z.numel()
