# pow_grad: out = inp**k

# %% right: computed in float64, rounded at the end
def pow_grad(inp, out, k):
    x, g = inp.double(), out.g.double()
    inp.g = (g * k * x.pow(k - 1)).float()


# %% right: the power as a product in a loop
import torch


def pow_grad(inp, out, k):
    slope = torch.ones_like(inp)
    for _ in range(k - 1):
        slope = slope * inp
    inp.g = slope * k * out.g


# %% right: product rule, one term for each factor
import torch


def pow_grad(inp, out, k):
    upstream = out.g
    total = torch.zeros_like(inp)
    for used in range(k):
        others = [inp for j in range(k) if j != used]
        term = upstream.clone()
        for o in others:
            term *= o
        total += term
    inp.g = total


# %% right: through NumPy in float64
import numpy as np, torch
def pow_grad(inp, out, k):
    x = inp.numpy().astype('float64')
    g = np.asarray(k * x ** (k - 1) * out.g.numpy(), dtype='float32')
    inp.g = torch.from_numpy(g)


# %% right: chained tensor methods
import torch
def pow_grad(inp, out, k):
    inp.g = torch.pow(inp, k - 1).mul(k).mul(out.g)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def pow_grad(inp, out, k):
    inp.g = k * inp ** (k - 1)


# %% wrong: factor k missing | inp.g: missing-local
def pow_grad(inp, out, k):
    inp.g = inp ** (k - 1) * out.g


# %% wrong: factor k twice | inp.g: extra-factor
def pow_grad(inp, out, k):
    dpow = k * inp ** (k - 1)
    inp.g = k * dpow * out.g


# %% wrong: local derivative taken at out instead of inp | inp.g: wrong-point
def pow_grad(inp, out, k):
    inp.g = k * out ** (k - 1) * out.g


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def pow_grad(inp, out, k):
    inp.g = k * inp ** (k - 1) * out


# %% wrong: always the derivative of the square | inp.g: hard-coded or wrong-local
def pow_grad(inp, out, k):
    inp.g = 2 * inp * out.g


# %% wrong: exponent not lowered | inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = out.g * k * inp**k


# %% wrong: k inside the power | inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = (k * inp) ** (k - 1) * out.g


# %% wrong: factor k - 1, exponent k | inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = (k - 1) * inp**k * out.g


# %% wrong: 1 subtracted after the power, for lack of brackets | inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = k * inp ** k-1 * out.g


# %% wrong: exponent raised instead of lowered | inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = k * inp ** (k + 1) * out.g


# %% wrong: k missing from the arguments | inp.g: error
def pow_grad(inp, out):
    inp.g = 2 * inp * out.g


# %% wrong: returned instead of stored | inp.g: returned-not-stored
def pow_grad(inp, out, k):
    g = k * inp ** (k - 1) * out.g
    return g


# %% wrong: stored in inp.grad | inp.g: wrong-attribute
def pow_grad(inp, out, k):
    inp.grad = k * inp ** (k - 1) * out.g


# %% wrong: inp changed in place | inp.g: mutated-input
def pow_grad(inp, out, k):
    g = inp
    g.pow_(k - 1)
    g.mul_(k).mul_(out.g)
    inp.g = g.clone()


# %% wrong: out.g overwritten in place | inp.g: mutated-input
def pow_grad(inp, out, k):
    out.g *= k * inp ** (k - 1)
    inp.g = out.g


# %% wrong: k out / inp, which has no value where inp is 0 | inp.g: not-finite
def pow_grad(inp, out, k):
    inp.g = k * out / inp * out.g


# %% wrong: through logarithms, so that 0 has none | inp.g: not-finite
def pow_grad(inp, out, k):
    size = (inp.abs().log() * (k - 1)).exp()
    inp.g = out.g * k * size * (inp / inp.abs()) ** (k - 1)
