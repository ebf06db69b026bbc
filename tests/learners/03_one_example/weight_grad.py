# weight_grad: f = x @ w + b

# %% right: a column times a row, by view
def weight_grad(x, w, b, df):
    return x.view(-1, 1) @ df.view(1, -1)


# %% right: two loops over the entries
import torch


def weight_grad(x, w, b, df):
    g = torch.zeros(w.shape)
    for i, xi in enumerate(x):
        for j, dj in enumerate(df):
            g[i, j] = xi * dj
    return g


# %% right: einsum
import torch
def weight_grad(x, w, b, df):
    return torch.einsum("i,j->ij", x, df)


# %% right: NumPy's outer product
import numpy as np
import torch


def weight_grad(x, w, b, df):
    return torch.as_tensor(np.outer(x.numpy(), df.numpy()))


# %% right: the transposed outer product, transposed back
def weight_grad(x, w, b, df):
    flipped = df.unsqueeze(1) @ x.unsqueeze(0)
    return flipped.t()


# %% wrong: x in every column, without df | return: missing-upstream
def weight_grad(x, w, b, df):
    return x.unsqueeze(1).expand_as(w)


# %% wrong: df in every row, without x | return: missing-local
def weight_grad(x, w, b, df):
    return df.expand(w.shape)


# %% wrong: multiplied by w | return: extra-factor
import torch


def weight_grad(x, w, b, df):
    return torch.outer(x, df) * w


# %% wrong: divided by the number of inputs | return: mean-for-sum or wrong-factor
import torch


def weight_grad(x, w, b, df):
    return torch.outer(x, df) / len(x)


# %% wrong: sum of x in place of each of its entries | return: sum-of-products or summed-wrong-axis
def weight_grad(x, w, b, df):
    return x.sum() * df.expand(w.shape)


# %% wrong: outer product in the wrong order | return: transposed
import torch


def weight_grad(x, w, b, df):
    return torch.outer(df, x)


# %% wrong: outer product in the wrong order, then reshaped | return: reshape-for-transpose
import torch


def weight_grad(x, w, b, df):
    g = torch.outer(df, x)
    return g.reshape(w.shape)


# %% wrong: only the diagonal | return: diagonal-only
import torch


def weight_grad(x, w, b, df):
    g = torch.zeros_like(w)
    for k in range(min(len(x), len(df))):
        g[k, k] = x[k] * df[k]
    return g


# %% wrong: w used in place of x | return: wrong-operand
def weight_grad(x, w, b, df):
    return w * df


# %% wrong: f used in place of df | return: value-for-gradient
import torch


def weight_grad(x, w, b, df):
    f = x @ w + b
    return torch.outer(x, f)


# %% wrong: x and df added instead of multiplied | return: wrong-local or unknown
def weight_grad(x, w, b, df):
    return x.unsqueeze(1) + df


# %% wrong: the weights after an update | return: wrong-local
import torch

def weight_grad(x, w, b, df):
    return w - torch.outer(x, df)


# %% wrong: x without a second axis, times df as a row | return: error
def weight_grad(x, w, b, df):
    return x @ df.view(1, -1)


# %% wrong: an axis too many, for a batch | return: wrong-shape
def weight_grad(x, w, b, df):
    return x[None, :, None] * df[None, None, :]


# %% wrong: rows of which x is equal share a gradient | return: wrong-local
import torch


def weight_grad(x, w, b, df):
    values, which = x.unique(return_inverse=True)
    counts = torch.bincount(which)
    return torch.outer(x / counts[which], df)
