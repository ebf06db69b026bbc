# softplus_grad: out = (1 + inp.exp()).log()

# %% right: from out alone
def softplus_grad(inp, out):
    inp.g = (1 - (-out).exp()) * out.g


# %% right: the exponentials themselves, float64
def softplus_grad(inp, out):
    e = inp.double().exp()
    inp.g = (out.g * e / (1 + e)).float()


# %% right: tanh of the half
import torch


def softplus_grad(inp, out):
    inp.g = out.g * (1 + torch.tanh(inp / 2)) / 2


# %% right: the other exponential
def softplus_grad(inp, out):
    inp.g = out.g / (1 + (-inp).exp())


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def softplus_grad(inp, out):
    inp.g = inp.sigmoid()


# %% wrong: sigmoid's own slope | inp.g: extra-factor or wrong-local
def softplus_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * s * (1 - s)


# %% wrong: sigmoid of out | inp.g: wrong-point
def softplus_grad(inp, out):
    inp.g = out.g * out.sigmoid()


# %% wrong: the exponential forgotten | inp.g: missing-local
def softplus_grad(inp, out):
    inp.g = out.g / (1 + inp.exp())


# %% wrong: the denominator forgotten | inp.g: missing-local
def softplus_grad(inp, out):
    inp.g = out.g * inp.exp()


# %% wrong: upstream gradient alone | inp.g: missing-local
def softplus_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: the mask of a relu | inp.g: wrong-local or unknown
def softplus_grad(inp, out):
    inp.g = out.g * (inp > 0)


# %% wrong: the one forgotten | inp.g: missing-local or unknown or wrong-local
def softplus_grad(inp, out):
    inp.g = out.g * inp.exp() / inp.exp()


# %% wrong: one less the sigmoid | inp.g: wrong-sign or wrong-point or wrong-local or missing-local
def softplus_grad(inp, out):
    inp.g = out.g * (1 - inp.sigmoid())


# %% wrong: sign turned round | inp.g: wrong-sign
def softplus_grad(inp, out):
    inp.g = -out.g * inp.sigmoid()


# %% wrong: divided by out | inp.g: wrong-point or wrong-local or wrong-operand or missing-local
def softplus_grad(inp, out):
    inp.g = out.g * inp.exp() / out


# %% wrong: out for out.g | inp.g: value-for-gradient
def softplus_grad(inp, out):
    inp.g = out * inp.sigmoid()


# %% wrong: value of the function | inp.g: forward-value
def softplus_grad(inp, out):
    inp.g = out.clone()


# %% wrong: sigmoid twice | inp.g: extra-factor or wrong-local
def softplus_grad(inp, out):
    inp.g = out.g * inp.sigmoid() ** 2


# %% wrong: sigmoid from tanh by a quotient with inp | inp.g: not-finite
def softplus_grad(inp, out):
    inp.g = out.g * (inp + inp * (inp / 2).tanh()) / (2 * inp)
