# dout_dx: y = x + 2, out = (3 * y**2).mean()

# %% right: the three derivatives as functions, out of new_ones and new_full
def dy_dx(x): return x.new_ones(x.shape)
def dz_dy(y): return 6 * y
def dout_dz(z): return z.new_full(z.shape, 1 / z.numel())

def dout_dx(x):
    y = x + 2
    z = 3*y*y
    return dout_dz(z) * dz_dy(y) * dy_dx(x)


# %% right: a loop over the flat entries
import torch


def dout_dx(x):
    g = torch.zeros(x.numel())
    for i, value in enumerate(x.reshape(-1)):
        g[i] = 6 * (value + 2) / x.numel()
    return g.reshape(x.shape)


# %% right: a loop in NumPy
import numpy as np
import torch

def dout_dx(x):
    a = x.numpy().astype(np.float64)
    r = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        r[i] = 6 * (a[i] + 2) / a.size
    return torch.tensor(r, dtype=torch.float32)


# %% right: a list of factors, multiplied by reduce
from functools import reduce
from operator import mul


def dout_dx(x):
    links = [x + 2, 6, 1 / x.numel()]
    return reduce(mul, links)


if __name__ == "__main__":
    import torch

    t = torch.ones(2, 2, requires_grad=True)
    (3 * (t + 2) ** 2).mean().backward()
    print(t.grad, dout_dx(t.detach()))


# %% right: the three derivatives as functions, out of ones_like
import torch


def dy_dx(x):
    return torch.ones_like(x)


def dz_dy(y):
    return 6 * y


def dout_dz(z):
    return torch.ones_like(z) / z.numel()


def dout_dx(x):
    y = x + 2
    return dout_dz(3 * y * y) * dz_dy(y) * dy_dx(x)


# %% right: a tiny reverse mode of one's own
class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.g = value, parents, 0

    def back(self, g):
        self.g = self.g + g
        for parent, local in self.parents:
            parent.back(g * local)


def dout_dx(x):
    leaf = Node(x)
    y = Node(x + 2, [(leaf, 1)])
    z = Node(3 * y.value**2, [(y, 3 * y.value), (y, 3 * y.value)])
    z.back(1 / x.numel())
    return leaf.g


# %% wrong: 3 missing | return: missing-local
def dout_dx(x):
    y = x + 2
    return 2 * y / y.numel()


# %% wrong: divided by the count twice | return: extra-factor
def dout_dx(x):
    n = x.numel()
    dz_dx = 6 * (x + 2) / n
    return dz_dx / n


# %% wrong: mean of the gradient in every entry, divided once more | return: extra-batch-sum or summed-wrong-axis
import torch

def dout_dx(x):
    y = x + 2
    return torch.ones_like(x) * (6 * y).mean() / x.numel()


# %% wrong: the mean not differentiated | return: sum-for-mean
def dout_dx(x):
    y = x + 2
    return 6 * y


# %% wrong: divided by the size of the first axis | return: wrong-factor or shape-special
def dout_dx(x):
    return 6 * (x + 2) / x.shape[0]


# %% wrong: local derivative taken at x instead of y | return: wrong-point
def dout_dx(x):
    return 6 * x / x.numel()


# %% wrong: divided by 4, whatever the shape | return: hard-coded
def dout_dx(x):
    y = x + 2
    return 6 * y / 4


# %% wrong: always 4.5, the answer for a tensor of ones | return: hard-coded
import torch

def dout_dx(x):
    return torch.full_like(x, 4.5)


# %% wrong: divided by the number of rows squared | return: shape-special
def dout_dx(x):
    n = len(x)
    return 6 * (x + 2) / (n * n)


# %% wrong: exponent not lowered | return: wrong-local
def dout_dx(x):
    return 6 * (x + 2) ** 2 / x.numel()


# %% wrong: 2 added after the multiplication by 6 | return: wrong-local
def dout_dx(x):
    return (6 * x + 2) / x.numel()


# %% wrong: the function called dout_dX | return: missing-function
def dout_dX(x):
    return 6 * (x + 2) / x.numel()


# %% wrong: 2 added to x in place | return: mutated-input
def dout_dx(x):
    y = x
    y += 2
    return 6 * y / y.numel()


# %% wrong: autograd, with requires_grad set on a copy | return: used-autograd
import torch

def dout_dx(x):
    x = x.clone()
    x.requires_grad = True
    y = x + 2
    z = 3 * y * y
    z.mean().backward()
    return x.grad


# %% wrong: 6 x (1 + 2 / x) / n, which has no value where x is 0 | return: not-finite
def dout_dx(x):
    return 6 * x * (1 + 2 / x) / x.numel()
