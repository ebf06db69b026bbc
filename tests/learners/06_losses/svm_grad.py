# svm_grad: loss = the sum over wrong classes of (inp - inp of the right class + 1).clamp_min(0), mean over the batch

# %% right: as in a well-known course, with loops
import torch


def svm_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    n, c = inp.shape
    for i in range(n):
        for j in range(c):
            if j != targ[i] and inp[i, j] - inp[i, targ[i]] + 1 > 0:
                inp.g[i, j] += 1 / n
                inp.g[i, targ[i]] -= 1 / n


# %% right: one-hot and einsum, float64
import torch
import torch.nn.functional as F


def svm_grad(inp, targ):
    hot = F.one_hot(targ, inp.shape[1]).double()
    right = torch.einsum("bc,bc->b", inp.double(), hot)
    counts = ((inp - right[:, None] + 1) > 0).double() * (1 - hot)
    inp.g = ((counts - hot * counts.sum(1, keepdim=True)) / len(targ)).float()


# %% right: scatter
def svm_grad(inp, targ):
    own = targ[:, None]
    m = ((inp - inp.gather(1, own) + 1) > 0).float().scatter(1, own, 0.0)
    inp.g = m.scatter(1, own, -m.sum(1, keepdim=True)) / inp.size(0)


# %% wrong: right class forgotten | inp.g: missing-path
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m / len(inp)


# %% wrong: right class gets -1 only | inp.g: wrong-local or missing-path or unknown or hard-coded or inverted-mask or wrong-operand
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], -1.0)
    inp.g = m / len(inp)


# %% wrong: right class counted among the wrong ones | inp.g: missing-local or wrong-local or unknown or missing-path or extra-factor
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float()
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / len(inp)


# %% wrong: not divided by the examples | inp.g: sum-for-mean
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True))


# %% wrong: divided by all entries | inp.g: wrong-factor or mean-for-sum
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / inp.numel()


# %% wrong: without the margin of 1 | inp.g: wrong-point or hard-coded or wrong-local or unknown
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / len(inp)


# %% wrong: sign turned round | inp.g: wrong-sign
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = -m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / len(inp)


# %% wrong: right class with a plus | inp.g: wrong-sign
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], m.sum(1, keepdim=True)) / len(inp)


# %% wrong: no mask at all | inp.g: missing-local
import torch


def svm_grad(inp, targ):
    n, c = inp.shape
    m = torch.ones_like(inp).scatter(1, targ[:, None], 1.0 - c)
    inp.g = m / n


# %% wrong: the margins themselves | inp.g: wrong-local or forward-value or missing-local or unknown or wrong-operand
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1).clamp_min(0).scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / len(inp)


# %% wrong: mask turned round | inp.g: inverted-mask
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 <= 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / len(inp)


# %% wrong: cross-entropy | inp.g: wrong-graph or unknown or wrong-local
import torch
import torch.nn.functional as F


def svm_grad(inp, targ):
    inp.g = (inp.softmax(1) - F.one_hot(targ, inp.shape[1])) / len(inp)


# %% wrong: only the worst class | inp.g: wrong-local or unknown or missing-path
import torch
import torch.nn.functional as F


def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1).scatter(1, targ[:, None], 0.0)
    m = (m > 0) * F.one_hot(m.argmax(1), inp.shape[1]).float()
    inp.g = m.scatter(1, targ[:, None], -m.sum(1, keepdim=True)) / len(inp)


# %% wrong: row counts from the first example | inp.g: unknown or hard-coded or partial-batch or wrong-local
def svm_grad(inp, targ):
    m = (inp - inp.gather(1, targ[:, None]) + 1 > 0).float().scatter(1, targ[:, None], 0.0)
    inp.g = m.scatter(1, targ[:, None], -m[0].sum().expand(len(inp), 1)) / len(inp)


# %% wrong: the right class found by its score | inp.g: wrong-local
def svm_grad(inp, targ):
    right = inp.gather(1, targ.unsqueeze(1))
    hot = (inp == right).float()
    open_ = (inp - right + 1 > 0).float() * (1 - hot)
    inp.g = (open_ - hot * open_.sum(1, keepdim=True)) / len(inp)


# %% wrong: equal scores are no competition | inp.g: wrong-local
def svm_grad(inp, targ):
    rows = range(len(targ))
    gap = inp - inp[rows, targ].unsqueeze(1)
    open_ = ((gap + 1 > 0) & (gap != 0)).float()
    open_[rows, targ] = -open_.sum(1)
    inp.g = open_ / len(inp)


# %% wrong: minus one for the right class | inp.g: missing-path
import torch
import torch.nn.functional as F


def svm_grad(inp, targ):
    hot = F.one_hot(targ, inp.shape[1]).bool()
    margins = inp - inp[hot][:, None] + 1
    slopes = torch.where(hot, -1.0, (margins > 0).float())
    inp.g = slopes / inp.shape[0]


# %% wrong: the right class counted as a wrong one | inp.g: missing-path
def svm_grad(inp, targ):
    inp.g = (inp - inp[range(len(inp)), targ].unsqueeze(-1) + 1 > 0) / len(inp)


# %% wrong: the right class in the count | inp.g: wrong-local
def svm_grad(inp, targ):
    open_ = (inp - inp.gather(1, targ.unsqueeze(-1)) + 1 > 0).float()
    open_[range(len(targ)), targ] = -open_.sum(-1)
    inp.g = open_ / len(inp)
