# log_grad: out = inp.log()

# %% right: entry by entry in Python
import torch


def log_grad(inp, out):
    pairs = zip(out.g.flatten().tolist(), inp.flatten().tolist())
    inp.g = torch.tensor([g / x for g, x in pairs]).reshape(inp.shape)


# %% right: from out alone
def log_grad(inp, out):
    inp.g = out.g * (-out).exp()


# %% right: division by NumPy
import numpy as np
import torch


def log_grad(inp, out):
    g = np.divide(out.g.numpy(), inp.numpy())
    assert g.dtype == np.float32
    inp.g = torch.tensor(g)


# %% right: reciprocal of inp
def log_grad(inp, out):
    inp.g = inp.reciprocal() * out.g


# %% wrong: divided in float16, stored as float32 | inp.g: imprecise
def log_grad(inp, out):
    g = out.g.half() / inp.half()
    inp.g = g.float()


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def log_grad(inp, out):
    inp.g = 1 / inp


# %% wrong: an extra minus sign | inp.g: wrong-sign
def log_grad(inp, out):
    inp.g = -out.g / inp


# %% wrong: derivative of the logarithm to base ten | inp.g: wrong-factor
import math


def log_grad(inp, out):
    inp.g = out.g / (inp * math.log(10))


# %% wrong: divided by out instead of inp | inp.g: wrong-point
def log_grad(inp, out):
    inp.g = out.g / out


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def log_grad(inp, out):
    inp.g = out / inp


# %% wrong: inp divided by out.g | inp.g: not-linear
def log_grad(inp, out):
    inp.g = inp / out.g


# %% wrong: the second derivative | inp.g: wrong-local
def log_grad(inp, out):
    inp.g = -out.g / inp**2


# %% wrong: multiplied by the exponential, to undo the logarithm | inp.g: wrong-local
def log_grad(inp, out):
    inp.g = out.g * inp.exp()


# %% wrong: stored in inp.grad | inp.g: wrong-attribute
def log_grad(inp, out):
    inp.grad = out.g / inp


# %% wrong: a tuple stored | inp.g: wrong-type
def log_grad(inp, out):
    inp.g = (out.g / inp,)


# %% wrong: stored as float16 | inp.g: wrong-dtype
def log_grad(inp, out):
    inp.g = out.g.half() / inp.half()


# %% wrong: a quotient through logarithms, which negative numbers do not have | inp.g: not-finite
def log_grad(inp, out):
    # a/b = exp(log a - log b)
    inp.g = (out.g.log() - out).exp()


# %% wrong: out over inp out, where out is 0 at 1 | inp.g: not-finite
def log_grad(inp, out):
    inp.g = out.g * out / (inp * out)
