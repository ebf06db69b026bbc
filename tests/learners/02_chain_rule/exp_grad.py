# exp_grad: out = inp.exp()

# %% right: a name for out.g, bound anew and never changed
def exp_grad(inp, out):
    g = out.g
    g = g * out
    inp.g = g


# %% right: a decorator that measures the time
import functools
import time


def timed(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        start = time.perf_counter()
        result = fn(*args, **kwargs)
        print(f"{fn.__name__}: {time.perf_counter() - start:.6f} s")
        return result
    return inner


@timed
def exp_grad(inp, out):
    inp.g = out.g * out


# %% right: the exponential computed again, with a warning and a return
import warnings
def exp_grad(inp, out):
    warnings.warn("recomputing the forward")
    inp.g = inp.exp() * out.g
    return inp.g


# %% right: a lambda that calls setattr
exp_grad = lambda inp, out: setattr(inp, "g", out.g * out)


# %% right: a star import of torch
from torch import *


def exp_grad(inp, out):
    inp.g = mul(exp(inp), out.g)


# %% wrong: upstream gradient copied, without the local derivative | inp.g: missing-local
def exp_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: local derivative multiplied in twice | inp.g: extra-factor
def exp_grad(inp, out):
    inp.g = inp.exp() * out * out.g


# %% wrong: an extra minus sign | inp.g: wrong-sign
def exp_grad(inp, out):
    inp.g = -out.g * out


# %% wrong: local derivative taken at out instead of inp | inp.g: wrong-point
def exp_grad(inp, out):
    inp.g = out.exp() * out.g


# %% wrong: exponential of the upstream gradient | inp.g: wrong-local
def exp_grad(inp, out):
    inp.g = out.g.exp()


# %% wrong: logarithm of out in place of its value | inp.g: wrong-local or wrong-point
def exp_grad(inp, out):
    inp.g = out.log() * out.g


# %% wrong: the power rule, as if inp were not the exponent | inp.g: wrong-local
def exp_grad(inp, out):
    inp.g = out.g * inp * (inp - 1).exp()


# %% wrong: left as dots | inp.g: todo
def exp_grad(inp, out):
    inp.g = ...


# %% wrong: math.exp of a list | inp.g: error
import math


def exp_grad(inp, out):
    inp.g = math.exp(inp.tolist()) * out.g


# %% wrong: out.g overwritten in place | inp.g: mutated-input
def exp_grad(inp, out):
    g = out.g
    g *= out
    inp.g = g


# %% wrong: random noise on the gradient | inp.g: not-repeatable
import torch


def exp_grad(inp, out):
    jitter = 1 + 0.05 * torch.randn_like(inp)
    inp.g = out * out.g * jitter


# %% wrong: the value only where inp is not 0 | inp.g: wrong-local
def exp_grad(inp, out):
    inp.g = out.g * out * (inp != 0)


# %% wrong: g in the exponent | inp.g: not-linear
import torch


def exp_grad(inp, out):
    g = out.g
    inp.g = torch.exp(g * inp)
