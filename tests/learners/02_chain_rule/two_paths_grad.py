# two_paths_grad: out = inp * inp.sin() + inp**2

# %% right: one += for each of the four uses
import torch


def two_paths_grad(inp, out):
    inp.g = torch.zeros_like(inp)
    inp.g += out.g * inp.sin()
    inp.g += out.g * inp.cos() * inp
    inp.g += out.g * inp
    inp.g += out.g * inp


# %% right: one += for each term
import torch
def two_paths_grad(inp, out):
    inp.g = torch.zeros(inp.shape)
    inp.g += out.g * inp.sin()
    inp.g += out.g * inp * inp.cos()
    inp.g += out.g * 2 * inp


# %% right: einsum over two stacked local derivatives
import torch


def two_paths_grad(inp, out):
    locals_ = torch.stack([inp.sin() + 2 * inp, inp.cos() * inp], dim=-1)
    inp.g = torch.einsum("...,...p->...", out.g, locals_)


# %% right: a helper function in float64
from math import pi
def _d(x):
    # cos(x) = sin(x + pi/2) up to rounding, in double to be safe
    x = x.double()
    return x.sin() + x * (x + pi / 2).sin() + 2 * x
def two_paths_grad(inp, out):
    inp.g = (_d(inp) * out.g.double()).float()


# %% right: += from a plain 0, the square's two uses in a loop
def two_paths_grad(inp, out):
    inp.g = 0
    inp.g += out.g * inp.sin()
    inp.g += out.g * inp * inp.cos()
    for _ in range(2):
        inp.g += out.g * inp


# %% right: a stacked list of the four local derivatives
import torch


def two_paths_grad(inp, out):
    paths = [torch.sin(inp), inp * torch.cos(inp), inp, inp]
    inp.g = torch.stack([out.g * p for p in paths]).sum(dim=0)


# %% wrong: measured with a step of 0.001 | inp.g: imprecise
def two_paths_grad(inp, out):
    f = lambda x: x * x.sin() + x**2
    h = 1e-3
    inp.g = out.g * (f(inp + h) - f(inp - h)) / (2 * h)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def two_paths_grad(inp, out):
    inp.g = inp.sin() + inp * inp.cos() + 2 * inp


# %% wrong: upstream gradient missing in the square's term | inp.g: missing-upstream
def two_paths_grad(inp, out):
    inp.g = (inp.sin() + inp * inp.cos()) * out.g + 2 * inp


# %% wrong: upstream gradient on the first term alone | inp.g: missing-upstream
def two_paths_grad(inp, out):
    inp.g = out.g * inp.sin() + inp * inp.cos() + 2 * inp


# %% wrong: sin not differentiated on its path | inp.g: missing-local
def two_paths_grad(inp, out):
    s = inp.sin()
    inp.g = out.g * (s + inp + 2 * inp)


# %% wrong: 2 from the square missing | inp.g: missing-local
def two_paths_grad(inp, out):
    inp.g = out.g * (inp.sin() + inp * inp.cos() + inp)


# %% wrong: the path through the first factor of inp * sin missing | inp.g: missing-path
def two_paths_grad(inp, out):
    inp.g = out.g * (inp * inp.cos() + 2 * inp)


# %% wrong: only the path through the square | inp.g: missing-path
def two_paths_grad(inp, out):
    inp.g = out.g * 2 * inp


# %% wrong: the path through the sine missing | inp.g: missing-path
def two_paths_grad(inp, out):
    inp.g = (inp.sin() + 2 * inp) * out.g


# %% wrong: the path through the square missing | inp.g: missing-path
def two_paths_grad(inp, out):
    inp.g = out.g * (inp.sin() + inp * inp.cos())


# %% wrong: second assignment overwrites the first | inp.g: overwritten or missing-path
def two_paths_grad(inp, out):
    # first term
    inp.g = out.g * (inp.sin() + inp * inp.cos())
    # second term
    inp.g = out.g * 2 * inp


# %% wrong: derivatives of the two factors multiplied | inp.g: wrong-local
def two_paths_grad(inp, out):
    inp.g = out.g * (1 * inp.cos() + 2 * inp)


# %% wrong: sine in place of the cosine | inp.g: wrong-local
def two_paths_grad(inp, out):
    inp.g = (inp.sin() + inp * inp.sin() + 2 * inp) * out.g


# %% wrong: out / inp, which has no value where inp is 0 | inp.g: not-finite
def two_paths_grad(inp, out):
    inp.g = out.g * (out / inp + inp * (1 + inp.cos()))
