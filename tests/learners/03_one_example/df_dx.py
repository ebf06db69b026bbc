# df_dx: f = x @ w + b

# %% right: columns of w stacked as rows
import torch


def df_dx(x, w, b):
    return torch.stack([w[:, j] for j in range(w.shape[1])])


# %% right: f applied to the unit vectors, transposed
import torch


def df_dx(x, w, b):
    # f is linear: its columns are f(e_i) - f(0)
    f = lambda t: t @ w
    return torch.cat([f(e)[None] for e in torch.eye(x.numel())]).T


# %% right: two loops over the entries
import torch
def df_dx(x, w, b):
    n, m = w.shape
    J = torch.zeros(m, n)
    for i in range(m):
        for j in range(n):
            J[i, j] = w[j, i]
    return J


# %% right: unit vectors times w, stacked as columns
import torch

def df_dx(x, w, b):
    cols = [e @ w for e in torch.eye(len(x), dtype=x.dtype)]
    return torch.stack(cols, dim=1)


# %% right: w.T
def df_dx(x, w, b):
    return w.T


# %% wrong: measured in float32 | return: imprecise
import torch


def df_dx(x, w, b):
    h, cols = 1e-3, []
    for e in torch.eye(len(x)):
        up, down = (x + h * e) @ w + b, (x - h * e) @ w + b
        cols.append((up - down) / (2 * h))
    return torch.stack(cols, dim=1)


# %% wrong: every row multiplied by x | return: extra-factor or forward-value
def df_dx(x, w, b):
    return w.t() * x


# %% wrong: w not transposed | return: transposed
def df_dx(x, w, b):
    return w


# %% wrong: w reshaped instead of transposed | return: reshape-for-transpose
def df_dx(x, w, b):
    n, m = w.shape
    return w.reshape(m, n)


# %% wrong: first column of w in every row | return: wrong-operand
def df_dx(x, w, b):
    return w[:, :1].t().expand(w.shape[1], w.shape[0])


# %% wrong: first row of w in every column | return: wrong-operand
def df_dx(x, w, b):
    return w[:1].t().expand(w.shape[1], w.shape[0])


# %% wrong: x in every row | return: wrong-operand
def df_dx(x, w, b):
    m = len(b)
    return x.repeat(m, 1)


# %% wrong: b in every column | return: forward-value or wrong-operand
def df_dx(x, w, b):
    return b.unsqueeze(1).expand(len(b), len(x))


# %% wrong: b added to every row | return: wrong-local or unknown
def df_dx(x, w, b):
    return w.t() + b.unsqueeze(1)


# %% wrong: only the signs of w | return: wrong-local or unknown
def df_dx(x, w, b):
    return w.t().sign()


# %% wrong: nested lists | return: wrong-type
def df_dx(x, w, b):
    return w.t().tolist()


# %% wrong: only the row of the first output | return: wrong-shape
def df_dx(x, w, b):
    return w[:, 0]


# %% wrong: summed over the outputs | return: wrong-shape or summed-wrong-axis
def df_dx(x, w, b):
    J = w.t()
    return J.sum(0)


# %% wrong: autograd through torch.func.jacrev | return: used-autograd
from torch.func import jacrev


def df_dx(x, w, b):
    return jacrev(lambda t: t @ w + b)(x)


# %% wrong: the part of f that is x's over x, where x may be 0 | return: not-finite
def df_dx(x, w, b):
    return (x.unsqueeze(-1) * w / x.unsqueeze(-1)).t()
