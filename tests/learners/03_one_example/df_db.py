# df_db: f = x @ w + b

# %% right: indices compared
import torch
def df_db(x, w, b):
    i = torch.arange(b.numel())
    return (i[:, None] == i[None, :]).to(b.dtype)


# %% right: ones added to the diagonal of zeros
import torch


def df_db(x, w, b):
    J = torch.zeros(len(b), len(b))
    J.diagonal().add_(1)
    return J


# %% right: diag of ones
import torch
def df_db(x, w, b):
    return torch.diag(torch.ones(len(b)))


# %% right: diagonal of zeros filled with ones
import torch


def df_db(x, w, b):
    jacobian = torch.zeros(len(b), len(b), dtype=b.dtype)
    jacobian.fill_diagonal_(1)
    return jacobian


# %% wrong: only the diagonal, a vector of ones | return: diagonal-only
import torch


def df_db(x, w, b):
    return torch.ones_like(b)


# %% wrong: an extra minus sign | return: wrong-sign
import torch


def df_db(x, w, b):
    return -torch.eye(b.shape[0])


# %% wrong: w transposed times w | return: wrong-operand
def df_db(x, w, b):
    return w.t() @ w


# %% wrong: values of b on the diagonal | return: value-for-gradient or extra-factor
import torch


def df_db(x, w, b):
    return torch.diag(b)


# %% wrong: ones where the identity has zeros, and the reverse | return: inverted-mask
import torch


def df_db(x, w, b):
    return 1 - torch.eye(len(b), dtype=b.dtype)


# %% wrong: always an identity of size 3 | return: hard-coded
import torch


def df_db(x, w, b):
    return torch.eye(3)


# %% wrong: identity of the size of x instead of b | return: shape-special
import torch


def df_db(x, w, b):
    n = x.shape[0]
    return torch.eye(n)


# %% wrong: identity with its columns in reverse | return: wrong-local or wrong-operand
import torch


def df_db(x, w, b):
    return torch.eye(len(b)).flip(0)


# %% wrong: ones everywhere | return: wrong-local
import torch


def df_db(x, w, b):
    return torch.ones(len(b), len(b), dtype=b.dtype)


# %% wrong: torch not imported | return: error
def df_db(x, w, b):
    return torch.eye(len(b))


# %% right: a NumPy array
import numpy as np
def df_db(x, w, b):
    return np.eye(len(b), dtype=np.float32)


# %% wrong: identity of integers, from comprehensions | return: wrong-dtype
import torch
def df_db(x, w, b):
    m = b.shape[0]
    rows = [[1 if i == j else 0 for j in range(m)] for i in range(m)]
    return torch.tensor(rows)


# %% wrong: autograd through functional.jacobian | return: used-autograd
import torch


def df_db(x, w, b):
    return torch.autograd.functional.jacobian(lambda c: x @ w + c, b)
