# dy_dx: y = x + 2

# %% right: a single one, expanded
import torch


def dy_dx(x):
    return torch.ones(()).expand(x.shape)


# %% right: ones of the same shape
import torch
def dy_dx(x):
    return torch.ones(x.shape)


# %% right: new_ones, below what was left of a notebook
import torch

x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = 3 * y * y
out = z.mean()
out.backward()
print(x.grad)


def dy_dx(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(x.shape)


# %% right: zeros plus 1
import torch


def dy_dx(x):
    return torch.zeros(x.shape) + 1


# %% right: 0 times x plus 1
def dy_dx(x):
    return 0 * x + 1


# %% wrong: y returned instead of its derivative | return: forward-value
def dy_dx(x):
    y = x + 2
    return y


# %% wrong: zeros, as for a constant | return: hard-coded
import torch


def dy_dx(x):
    # the derivative of a constant is 0
    return torch.zeros_like(x)


# %% wrong: always two by two ones | return: hard-coded or wrong-shape
import torch


def dy_dx(x):
    return torch.ones(2, 2)


# %% wrong: the integer 1 | return: wrong-type
def dy_dx(x):
    return 1


# %% right: a NumPy array of ones
import numpy as np


def dy_dx(x):
    return np.ones(tuple(x.shape), dtype=np.float32)


# %% wrong: a NumPy array of ones in NumPy's own dtype | return: wrong-dtype
import numpy as np


def dy_dx(x):
    return np.ones(tuple(x.shape))


# %% wrong: the float 1.0 | return: wrong-type
def dy_dx(x):
    return 1.0


# %% wrong: one number in a tensor without axes | return: wrong-shape or extra-batch-sum
import torch


def dy_dx(x):
    return torch.ones_like(x).sum() / x.numel()


# %% wrong: ones that are integers | return: wrong-dtype
import torch


def dy_dx(x):
    return torch.ones(x.shape, dtype=torch.long)


# %% wrong: autograd through torch.autograd.grad | return: used-autograd
import torch


def dy_dx(x):
    x = x.detach().clone().requires_grad_()
    y = x + 2
    return torch.autograd.grad(y.sum(), x)[0]
