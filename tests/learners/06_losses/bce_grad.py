# bce_grad: loss = -(targ * inp.log() + (1 - targ) * (1 - inp).log()).mean()

# %% right: two terms
def bce_grad(inp, targ):
    inp.g = (-targ / inp + (1 - targ) / (1 - inp)) / inp.shape[0]


# %% right: a loop
import torch


def bce_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    for i in range(len(inp)):
        inp.g[i] = ((1 - targ[i]) / (1 - inp[i]) - targ[i] / inp[i]) / len(inp)


# %% right: float64 and NumPy
import numpy as np
import torch


def bce_grad(inp, targ):
    p, t = inp.numpy().astype("float64"), targ.numpy()
    inp.g = torch.from_numpy(np.float32((p - t) / (p - p * p) / p.size))


# %% wrong: belief less truth, as with logits | inp.g: missing-local
def bce_grad(inp, targ):
    inp.g = (inp - targ) / len(inp)


# %% wrong: not divided by the examples | inp.g: sum-for-mean
def bce_grad(inp, targ):
    inp.g = (inp - targ) / (inp * (1 - inp))


# %% wrong: sign turned round | inp.g: wrong-sign
def bce_grad(inp, targ):
    inp.g = (targ - inp) / (inp * (1 - inp)) / len(inp)


# %% wrong: second path forgotten | inp.g: missing-path
def bce_grad(inp, targ):
    inp.g = -targ / inp / len(inp)


# %% wrong: first path forgotten | inp.g: missing-path
def bce_grad(inp, targ):
    inp.g = (1 - targ) / (1 - inp) / len(inp)


# %% wrong: minus in both terms | inp.g: wrong-sign
def bce_grad(inp, targ):
    inp.g = (-targ / inp - (1 - targ) / (1 - inp)) / len(inp)


# %% wrong: sigmoid applied once more | inp.g: wrong-point or wrong-graph or wrong-local or unknown
def bce_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ) / len(inp)


# %% wrong: the mean error for everybody | inp.g: extra-batch-sum or broadcast-accident or unknown
def bce_grad(inp, targ):
    inp.g = (0 * inp + ((inp - targ) / (inp * (1 - inp))).mean()) / len(inp)


# %% wrong: multiplied where it should be divided | inp.g: wrong-local or unknown
def bce_grad(inp, targ):
    inp.g = (inp - targ) * inp * (1 - inp) / len(inp)


# %% wrong: the loss itself | inp.g: forward-value
def bce_grad(inp, targ):
    inp.g = -(targ * inp.log() + (1 - targ) * (1 - inp).log()) / len(inp)


# %% wrong: logarithms kept | inp.g: wrong-local or missing-local or unknown
def bce_grad(inp, targ):
    inp.g = -(targ * inp.log() - (1 - targ) * (1 - inp).log()) / len(inp)


# %% wrong: denominators exchanged | inp.g: wrong-point or wrong-operand or unknown or wrong-local
def bce_grad(inp, targ):
    inp.g = (-targ / (1 - inp) + (1 - targ) / inp) / len(inp)


# %% wrong: targets and predictions exchanged | inp.g: wrong-operand or unknown or not-finite or wrong-sign or wrong-point
def bce_grad(inp, targ):
    inp.g = (targ - inp) / ((targ + 1e-3) * (1.001 - targ)) / len(inp)


# %% wrong: twice the gradient | inp.g: wrong-factor or extra-factor
def bce_grad(inp, targ):
    inp.g = 2 * (inp - targ) / (inp * (1 - inp)) / len(inp)


# %% wrong: through the logarithm of targ, which may be 0 | inp.g: not-finite
def bce_grad(inp, targ):
    inp.g = ((1 - targ) / (1 - inp) - (targ.log() - inp.log()).exp() * targ / targ) / len(inp)


# %% wrong: nothing where the prediction is the target, and a quotient with the error | inp.g: not-finite
def bce_grad(inp, targ):
    error = inp - targ
    inp.g = error**2 / error / (inp * (1 - inp)) / len(inp)
