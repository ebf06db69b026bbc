# bce_logits_grad: p = inp.sigmoid(), loss = -(targ * p.log() + (1 - targ) * (1 - p).log()).mean()

# %% right: both terms of the loss, the sigmoid's derivative in each
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = ((1 - targ) * p - targ * (1 - p)) / targ.numel()


# %% right: plain floats, and math.tanh
import math

import torch


def bce_logits_grad(inp, targ):
    n = inp.shape[0]
    values = [(0.5 + 0.5 * math.tanh(x / 2) - t) / n for x, t in zip(inp.tolist(), targ.tolist())]
    inp.g = torch.tensor(values)


# %% wrong: the stable form of the loss differentiated, two kinks that meet at 0 | inp.g: wrong-local
import torch


def bce_logits_grad(inp, targ):
    # max(x, 0) - x t + log(1 + exp(-|x|))
    e = torch.exp(-inp.abs())
    g = (inp > 0).float() - targ - inp.sign() * e / (1 + e)
    inp.g = g / g.numel()


# %% right: tensors, and tanh
def bce_logits_grad(inp, targ):
    inp.g = ((inp / 2).tanh() / 2 + 0.5 - targ) / len(targ)


# %% right: through both logarithms and the sigmoid
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    p_g = (-targ / p + (1 - targ) / (1 - p)) / len(inp)
    inp.g = p_g * p * (1 - p)


# %% right: a stable sigmoid for either sign
import torch


def bce_logits_grad(inp, targ):
    n = inp.shape[0]
    inp.g = torch.where(inp > 0, 1 / (1 + (-inp).exp()), inp.exp() / (1 + inp.exp())) / n - targ / n


# %% wrong: stopped at the probabilities | inp.g: missing-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = ((1 - targ) / (1 - p) - targ / p) / len(inp)


# %% wrong: only the target divided by the batch size | inp.g: missing-local
def bce_logits_grad(inp, targ):
    inp.g = inp.sigmoid() - targ / len(targ)


# %% wrong: sigmoid's derivative multiplied in again | inp.g: extra-factor
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (p - targ) * p * (1 - p) / len(inp)


# %% wrong: the path through the first logarithm missing | inp.g: missing-path
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (1 - targ) * p / len(inp)


# %% wrong: the path through the second logarithm missing | inp.g: missing-path
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = -targ * (1 - p) / len(inp)


# %% wrong: target missing | inp.g: missing-path or wrong-point
def bce_logits_grad(inp, targ):
    inp.g = inp.sigmoid() / len(inp)


# %% wrong: averaged over the batch, then copied to every entry | inp.g: extra-batch-sum
import torch


def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ).mean() * torch.ones_like(inp) / len(inp)


# %% wrong: averaged to one number | inp.g: extra-batch-sum
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ).mean()


# %% wrong: summed to one number after the division | inp.g: extra-batch-sum
def bce_logits_grad(inp, targ):
    inp.g = ((inp.sigmoid() - targ) / len(inp)).sum()


# %% wrong: not divided by the batch size | inp.g: sum-for-mean
def bce_logits_grad(inp, targ):
    inp.g = inp.sigmoid() - targ


# %% wrong: inner derivative's minus sign missing in the second logarithm | inp.g: wrong-sign
def bce_logits_grad(inp, targ):
    # d/dp of (1 - t) log(1 - p) taken as +(1 - t)/(1 - p)
    p = inp.sigmoid()
    dp = -(targ / p + (1 - targ) / (1 - p))
    inp.g = dp * p * (1 - p) / len(inp)


# %% wrong: target added instead of subtracted | inp.g: wrong-sign
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() + targ) / len(inp)


# %% wrong: target and probability exchanged | inp.g: wrong-sign
def bce_logits_grad(inp, targ):
    inp.g = (targ - inp.sigmoid()) / len(targ)


# %% wrong: term of the negative class doubled | inp.g: wrong-factor or wrong-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (2 * (1 - targ) * p - targ * (1 - p)) / len(inp)


# %% wrong: doubled | inp.g: wrong-factor
def bce_logits_grad(inp, targ):
    inp.g = 2 * (inp.sigmoid() - targ) / len(inp)


# %% wrong: inp in place of its sigmoid | inp.g: wrong-point or wrong-operand
def bce_logits_grad(inp, targ):
    inp.g = (inp - targ) / len(inp)


# %% wrong: sigmoid applied twice | inp.g: wrong-point or wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid().sigmoid() - targ) / len(inp)


# %% wrong: targets rounded | inp.g: wrong-operand
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ.round()) / len(inp)


# %% wrong: sigmoid of the targets too | inp.g: wrong-operand or wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ.sigmoid()) / len(inp)


# %% wrong: targets of the two terms exchanged | inp.g: wrong-operand or wrong-sign
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = (targ * p - (1 - targ) * (1 - p)) / len(inp)


# %% wrong: the loss of each entry | inp.g: forward-value or wrong-local
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = -(targ * p.log() + (1 - targ) * (1 - p).log()) / len(inp)


# %% wrong: batch size of 32 written into the code | inp.g: hard-coded
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ) / 32


# %% wrong: sign of the error | inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ).sign() / len(inp)


# %% wrong: hard decisions in place of the probabilities | inp.g: wrong-local or wrong-operand
def bce_logits_grad(inp, targ):
    inp.g = ((inp > 0).float() - targ) / len(inp)


# %% wrong: the squared error of the probabilities differentiated | inp.g: wrong-local or extra-factor
def bce_logits_grad(inp, targ):
    p = inp.sigmoid()
    inp.g = 2 * (p - targ) * p * (1 - p) / len(inp)


# %% wrong: softmax in place of the sigmoid | inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.softmax(0) - targ) / len(inp)


# %% wrong: tanh in place of the sigmoid | inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.tanh() - targ) / len(inp)


# %% wrong: rows with the score 0 left out as undecided | inp.g: wrong-local
def bce_logits_grad(inp, targ):
    inp.g = (inp.sigmoid() - targ) * (inp != 0) / len(inp)
