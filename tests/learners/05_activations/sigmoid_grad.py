# sigmoid_grad: out = inp.sigmoid()

# %% right: sigmoid of inp times sigmoid of -inp
def sigmoid_grad(inp, out):
    inp.g = inp.sigmoid() * (-inp).sigmoid() * out.g


# %% right: from the hyperbolic cosine
import torch

def sigmoid_grad(inp, out):
    inp.g = out.g / (2 * torch.cosh(inp / 2)) ** 2


# %% right: from the exponential
def sigmoid_grad(inp, out):
    e = (-inp).exp()
    inp.g = out.g * e / (1 + e) ** 2


# %% right: from the hyperbolic tangent of the half
def sigmoid_grad(inp, out):
    # sigmoid(x) = (1 + tanh(x/2)) / 2
    inp.g = (1 - (inp / 2).tanh().square()).div(4).mul(out.g)


# %% right: a loop in NumPy
import numpy as np
import torch


def sigmoid_grad(inp, out):
    y, g = out.numpy().astype("f8"), out.g.numpy()
    slopes = np.zeros_like(y)
    for i in np.ndindex(y.shape):
        slopes[i] = y[i] - y[i] ** 2
    inp.g = torch.tensor(slopes * g, dtype=torch.float32)


# %% right: a quarter minus a square
def sigmoid_grad(inp, out):
    inp.g = (0.25 - (out - 0.5).square()).mul(out.g)


# %% wrong: upstream gradient missing in the second term, for lack of brackets | inp.g: missing-upstream
def sigmoid_grad(inp, out):
    inp.g = out.g * out - out ** 2


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def sigmoid_grad(inp, out):
    s = torch.sigmoid(inp)
    inp.g = s * (1 - s)


# %% wrong: inner derivative exp(-inp) missing | inp.g: missing-local
def sigmoid_grad(inp, out):
    # d(1/u) = 1/u**2
    inp.g = out.g / (1 + (-inp).exp()).pow(2)


# %% wrong: factor out missing | inp.g: missing-local or wrong-local
def sigmoid_grad(inp, out):
    inp.g = (1 - out) * out.g


# %% wrong: multiplied by inp | inp.g: extra-factor
def sigmoid_grad(inp, out):
    inp.g = inp * out * (1 - out) * out.g


# %% wrong: local derivative squared | inp.g: extra-factor
def sigmoid_grad(inp, out):
    inp.g = (out * (1 - out)) ** 2 * out.g


# %% wrong: upstream gradient squared | inp.g: extra-factor
def sigmoid_grad(inp, out):
    inp.g = out.g ** 2 * out * (1 - out)


# %% wrong: averaged to one number | inp.g: extra-batch-sum or wrong-shape
def sigmoid_grad(inp, out):
    inp.g = (out * (1 - out) * out.g).mean()


# %% wrong: summed over the batch | inp.g: extra-batch-sum or wrong-shape
def sigmoid_grad(inp, out):
    inp.g = (out * (1 - out) * out.g).sum(0)


# %% wrong: inner derivative's minus sign counted twice | inp.g: wrong-sign
def sigmoid_grad(inp, out):
    e = (-inp).exp()
    inp.g = -out.g * e / (1 + e) ** 2


# %% wrong: out - 1 in place of 1 - out | inp.g: wrong-sign
def sigmoid_grad(inp, out):
    inp.g = out * (out - 1) * out.g


# %% wrong: doubled | inp.g: wrong-factor
def sigmoid_grad(inp, out):
    inp.g = 2 * out.g * out * (1 - out)


# %% wrong: local derivative taken at inp instead of out | inp.g: wrong-point
def sigmoid_grad(inp, out):
    inp.g = inp * (1 - inp) * out.g


# %% wrong: inp in place of out in the first factor | inp.g: wrong-point or wrong-operand
def sigmoid_grad(inp, out):
    inp.g = inp * (1 - out) * out.g


# %% wrong: inp in place of out in the second factor | inp.g: wrong-point or wrong-operand
def sigmoid_grad(inp, out):
    inp.g = out.g * out * (1 - inp)


# %% wrong: sigmoid applied twice | inp.g: wrong-point
def sigmoid_grad(inp, out):
    s = out.sigmoid()
    inp.g = s * (1 - s) * out.g


# %% wrong: always a quarter | inp.g: wrong-local or hard-coded or wrong-factor
def sigmoid_grad(inp, out):
    # the slope of sigmoid is 1/4
    inp.g = 0.25 * out.g


# %% wrong: the derivative of tanh | inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = (1 - out ** 2) * out.g


# %% wrong: divided by the local derivative | inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = out.g / (out * (1 - out))


# %% wrong: denominator not squared, exponential of inp instead of -inp | inp.g: wrong-local or wrong-sign
def sigmoid_grad(inp, out):
    e = inp.exp()
    inp.g = e / (1 + e) * out.g


# %% wrong: out in place of its derivative | inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = out * out.g


# %% wrong: denominator not squared | inp.g: wrong-local or missing-local
def sigmoid_grad(inp, out):
    e = (-inp).exp()
    inp.g = out.g * e / (1 + e)


# %% wrong: subtraction in place of the first multiplication | inp.g: wrong-local or unknown
def sigmoid_grad(inp, out):
    inp.g = out - (1 - out) * out.g


# %% wrong: 1 - out in both factors | inp.g: wrong-local or wrong-point
def sigmoid_grad(inp, out):
    inp.g = (1 - out) * (1 - out) * out.g


# %% wrong: 1 + out in place of 1 - out | inp.g: wrong-local or wrong-sign
def sigmoid_grad(inp, out):
    inp.g = out.g * out * (1 + out)


# %% wrong: returned instead of stored | inp.g: returned-not-stored
def sigmoid_grad(inp, out):
    return out * (1 - out) * out.g


# %% wrong: out.g multiplied in place | inp.g: mutated-input
def sigmoid_grad(inp, out):
    g = out.g
    g *= out * (1 - out)
    inp.g = g


# %% wrong: nothing where inp is 0, as if that were padding | inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = out.g * out * (1 - out) * inp.bool()
