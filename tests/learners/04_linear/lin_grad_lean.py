# lin_grad_lean: out = inp @ w + b, in little memory

# %% right: three rows of the batch at a time
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g.mm(w.T)
    w.g = torch.zeros_like(w)
    for x, g in zip(inp.split(3), out.g.split(3), strict=True):
        w.g += x.T @ g
    b.g = out.g.T.sum(1)


# %% right: one row at a time, all three in place
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = torch.empty_like(inp)
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for i, (x, g) in enumerate(zip(inp, out.g)):
        inp.g[i] = w @ g
        w.g.addr_(x, g)
        b.g.add_(g)


# %% right: one row of w.g at a time
import torch


def lin_grad_lean(inp, out, w, b):
    w.g = torch.stack([(column[:, None] * out.g).sum(0) for column in inp.t()])
    inp.g = torch.nn.functional.linear(out.g, w)
    b.g = out.g.sum(0)


# %% right: one row at a time, with addr_ and mv
import torch
def lin_grad_lean(inp, out, w, b):
    w.g = torch.zeros(w.shape)
    for x, g in zip(inp, out.g):
        w.g.addr_(x, g)
    inp.g = torch.stack([w.mv(g) for g in out.g])
    b.g = sum(out.g)


# %% right: one row at a time for w.g alone
import torch

def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for x, g in zip(inp, out.g):
        w.g.addr_(x, g)
    b.g = out.g.sum(0)


# %% right: three products
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: w.g without the last row | w.g: partial-batch
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for i in range(len(inp) - 1):
        w.g += torch.outer(inp[i], out.g[i])
    b.g = out.g.sum(0)


# %% wrong: w.g without the first row | w.g: partial-batch
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for i in range(1, len(inp)):
        w.g += torch.outer(inp[i], out.g[i])
    b.g = out.g.sum(0)


# %% wrong: w.g averaged over the batch | w.g: mean-for-sum
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / inp.shape[0]
    b.g = out.g.sum(0)


# %% wrong: w.g overwritten by each row | w.g: overwritten or partial-batch
import torch
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    for x, g in zip(inp, out.g):
        w.g = torch.outer(x, g)
    b.g = out.g.sum(0)


# %% wrong: w.g from every other row | w.g: unknown or partial-batch
import torch

def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for i in range(0, len(inp), 2):
        w.g += torch.outer(inp[i], out.g[i])
    b.g = out.g.sum(0)


# %% wrong: b.g summed over the outputs instead of the batch | b.g: summed-wrong-axis
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(1)


# %% wrong: b.g overwritten by each row | b.g: overwritten or partial-batch
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    for row in out.g:
        b.g = row.clone()


# %% wrong: all products at once by broadcasting, a column of ones for the bias | *: memory
import torch

def contributions(x, g):
    return x.unsqueeze(-1) * g.unsqueeze(1)

def lin_grad_lean(inp, out, w, b):
    ones = torch.ones(inp.shape[0], 1)
    full = contributions(torch.cat([inp, ones], 1), out.g).sum(0)
    w.g = full[:-1]
    b.g = full[-1]
    inp.g = (out.g.unsqueeze(1) * w.unsqueeze(0)).sum(-1)


# %% wrong: all products at once by einsum | w.g: memory
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    pairs = torch.einsum("bn,bm->bnm", inp, out.g)
    w.g = pairs.sum(dim=0)
    b.g = out.g.sum(dim=0)


# %% wrong: a list of outer products, then added up | w.g: memory
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    outers = [torch.outer(x, g) for x, g in zip(inp, out.g)]
    w.g = sum(outers)
    b.g = out.g.sum(0)


# %% wrong: a list of outer products, then stacked | w.g: memory
import torch

def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.stack([torch.outer(x, g) for x, g in zip(inp, out.g)]).sum(0)
    b.g = out.g.sum(0)


# %% wrong: all products at once by unsqueeze | w.g: memory
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.unsqueeze(-1) * out.g.unsqueeze(1)).sum(0)
    b.g = out.g.sum(0)


# %% wrong: the bias set in each pair of rows | b.g: partial-batch
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = torch.matmul(out.g, w.T)
    w.g = torch.matmul(inp.T, out.g)
    for first in range(0, len(inp), 2):
        b.g = torch.sum(out.g[first : first + 2], dim=0)
