# lin_grad: out = inp @ w + b

# %% right: annotated, with a helper that returns a dictionary
from typing import Dict
import torch
from torch import Tensor


def _grads(inp: Tensor, g: Tensor, w: Tensor) -> Dict[str, Tensor]:
    return {"inp": g.matmul(w.transpose(-1, -2)), "w": inp.transpose(0, 1).matmul(g), "b": g.sum(dim=0)}


def lin_grad(inp: Tensor, out: Tensor, w: Tensor, b: Tensor) -> None:
    named = {"inp": inp, "w": w, "b": b}
    for name, grad in _grads(inp, out.g, w).items():
        setattr(named[name], "g", grad)


# %% right: a column of ones for the bias
import torch


def lin_grad(inp, out, w, b):
    import torch
    rows = torch.cat([inp, torch.ones(len(inp), 1, dtype=inp.dtype)], 1)
    both = rows.t() @ out.g
    inp.g, w.g, b.g = out.g @ w.t(), both[:-1], both[-1]


# %% right: batched products, b.g summed over axis -2
import torch


def lin_grad(inp, out, w, b):
    w.g = torch.bmm(inp.unsqueeze(2), out.g.unsqueeze(1)).sum(0)
    inp.g = torch.bmm(w.expand(len(inp), *w.shape), out.g.unsqueeze(2)).squeeze(2)
    b.g = out.g.sum(-2)


# %% right: a column of ones for the bias, w times the transpose, returned too
import torch
def lin_grad(inp, out, w, b):
    x1 = torch.cat([inp, torch.ones(len(inp), 1)], dim=1)
    both = x1.t() @ out.g
    w.g, b.g = both[:-1], both[-1]
    setattr(inp, 'g', (w @ out.g.T).T)
    return inp.g, w.g, b.g


# %% right: a class with a backward method
import torch

class Linear:
    def __init__(self, w, b): self.w, self.b = w, b
    def backward(self, inp, out):
        inp.g = torch.matmul(out.g, self.w.transpose(0, 1))
        self.w.g = torch.einsum('bi,bj->ij', inp, out.g)
        self.b.g = torch.ones(out.shape[0]) @ out.g

def lin_grad(inp, out, w, b):
    Linear(w, b).backward(inp, out)


# %% right: the last entries of running sums
def lin_grad(inp, out, w, b):
    w.g = (inp[:, :, None] * out.g[:, None, :]).cumsum(0)[-1]
    inp.g = (out.g[:, None, :] * w).cumsum(-1)[..., -1]
    b.g = out.g.cumsum(0)[-1]


# %% right: three loops over the entries
import torch


def lin_grad(inp, out, w, b):
    (bs, n), m = inp.shape, len(b)
    inp.g, w.g, b.g = torch.zeros(bs, n), torch.zeros(n, m), torch.zeros(m)
    for i in range(bs):
        for j in range(m):
            b.g[j] += out.g[i, j]
            for k in range(n):
                inp.g[i, k] += out.g[i, j] * w[k, j]
                w.g[k, j] += out.g[i, j] * inp[i, k]


# %% right: the outer products of a notebook, summed over the batch
def lin_grad(inp, out, w, b):
    # grad of matmul with respect to input
    inp.g = out.g @ w.t()
    w.g = (inp.unsqueeze(-1) * out.g.unsqueeze(1)).sum(0)
    b.g = out.g.sum(0)


# %% right: NumPy all the way
import numpy as np
import torch


def lin_grad(inp, out, w, b):
    x, g, W = inp.numpy(), out.g.numpy(), w.numpy()
    grads = g @ W.T, x.T @ g, np.add.reduce(g, axis=0)
    inp.g, w.g, b.g = map(torch.from_numpy, grads)


# %% right: a column of ones for the bias, and functional.linear
import torch

def lin_grad(inp, out, w, b):
    ones = torch.ones(inp.shape[0], 1, dtype=inp.dtype)
    both = torch.cat((inp, ones), 1).t() @ out.g
    w.g, b.g = both[:-1], both[-1]
    inp.g = torch.nn.functional.linear(out.g, w)


# %% right: a row of ones that sums, products transposed back
import torch


def lin_grad(inp, out, w, b):
    g, ones = out.g, torch.ones(1, len(inp))
    inp.g = (w @ g.t()).t()
    w.g = torch.mm(g.T, inp).T
    b.g = (ones @ g).squeeze(0)


# %% right: out= arguments of matmul and sum
import torch

def lin_grad(inp, out, w, b):
    for t in (inp, w, b):
        t.g = torch.empty_like(t)
    torch.mm(out.g, w.t(), out=inp.g)
    torch.mm(inp.t(), out.g, out=w.g)
    torch.sum(out.g, 0, out=b.g)


# %% right: row by row, with torch.outer
import torch


def lin_grad(inp, out, w, b):
    inp.g, w.g, b.g = torch.zeros(inp.shape), torch.zeros(w.shape), torch.zeros(b.shape)
    for r in range(inp.shape[0]):
        inp.g[r] = w @ out.g[r]
        w.g += torch.outer(inp[r], out.g[r])
        b.g += out.g[r]


# %% right: row by row, with broadcasting
import torch
def lin_grad(inp, out, w, b):
    bs, n = inp.shape
    m = w.shape[1]
    gi, gw, gb = torch.zeros(bs, n), torch.zeros(n, m), torch.zeros(m)
    for r in range(bs):
        gi[r] = w @ out.g[r]
        gw += inp[r][:, None] * out.g[r][None, :]
        gb += out.g[r]
    inp.g, w.g, b.g = gi, gw, gb


# %% right: a tape of steps, run backwards
class Tape:
    def __init__(self):
        self.back = []

    def add(self, step):
        self.back.append(step)

    def run(self):
        for step in reversed(self.back):
            step()


def lin_grad(inp, out, w, b):
    tape = Tape()

    @tape.add
    def matmul():
        inp.g = out.g @ w.transpose(-1, -2)
        w.g = inp.transpose(-1, -2) @ out.g

    @tape.add
    def bias():
        b.g = out.g.T.sum(-1)

    tape.run()


# %% right: einsum
from torch import einsum


def lin_grad(inp, out, w, b):
    inp.g = einsum("bm,nm->bn", out.g, w)
    w.g = einsum("bn,bm->nm", inp, out.g)
    b.g = einsum("bm->m", out.g)


# %% right: vmap over the batch
import torch


def lin_grad(inp, out, w, b):
    outer = torch.func.vmap(torch.outer)
    inp.g = torch.func.vmap(lambda g: w @ g)(out.g)
    w.g = outer(inp, out.g).sum(0)
    b.g = out.g.sum(0)


# %% wrong: ones in place of out.g in inp.g | inp.g: missing-upstream
import torch
def lin_grad(inp, out, w, b):
    inp.g = torch.ones_like(out) @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: inp.g multiplied by inp | inp.g: extra-factor
def lin_grad(inp, out, w, b):
    inp.g = inp * (out.g @ w.t())
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: inp.g summed over the batch | inp.g: extra-batch-sum
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()).sum(0)
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: products in inp.g never summed | inp.g: elementwise-for-matmul
def lin_grad(inp, out, w, b):
    inp.g = out.g.unsqueeze(1) * w
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: bias subtracted from the upstream gradient | inp.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = (out.g - b) @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: pseudo-inverse of w in place of its transpose | inp.g: inverse-for-transpose
import torch

def lin_grad(inp, out, w, b):
    # out = inp @ w, so go back with the inverse
    inp.g = out.g @ torch.linalg.pinv(w)
    w.g = inp.T @ out.g
    b.g = out.g.sum(dim=0)


# %% wrong: inp.g clipped to the range from -1 to 1 | inp.g: not-linear
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()).clamp(-1, 1)
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: w.g computed in bfloat16 | w.g: imprecise
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.bfloat16().t() @ out.g.bfloat16()).float()
    b.g = out.g.sum(0)


# %% wrong: w.g not summed over the batch | w.g: missing-batch-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.unsqueeze(-1) * out.g.unsqueeze(1)
    b.g = out.g.sum(0)


# %% wrong: w.g averaged over the batch | w.g: mean-for-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.unsqueeze(-1) * out.g.unsqueeze(1)).mean(0)
    b.g = out.g.sum(0)


# %% wrong: w.g from the means of inp and out.g | w.g: sum-of-products
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.outer(inp.mean(0), out.g.mean(0))
    b.g = out.g.sum(0)


# %% wrong: inp and out.g each summed before they are multiplied | w.g: sum-of-products
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.outer(inp.sum(0), out.g.sum(0))
    b.g = out.g.sum(0)


# %% wrong: w.g transposed and averaged over the batch | w.g: transposed
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = out.g.t() @ inp / inp.shape[0]
    b.g = out.g.sum(0)


# %% wrong: w.g transposed | w.g: transposed
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.T
    w.g = out.g.T @ inp
    b.g = out.g.sum(dim=0)


# %% wrong: w.g as a running mean | w.g: wrong-factor
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for x, g in zip(inp, out.g):
        w.g = 0.9 * w.g + 0.1 * torch.outer(x, g)
    b.g = out.g.sum(0)


# %% wrong: w.g doubled | w.g: wrong-factor
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = 2 * inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: inputs centred in w.g | w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp - inp.mean(0)).t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: inputs paired with the next row's upstream gradient, in a circle | w.g: wrong-operand
import torch

def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = sum(torch.outer(inp[i - 1], out.g[i]) for i in range(len(inp)))
    b.g = out.g.sum(0)


# %% wrong: inputs paired with the next row's upstream gradient, one row short | w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    b.g = out.g.sum(0)
    w.g = inp[:-1].t() @ out.g[1:]


# %% wrong: inputs in reverse order in w.g | w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.flip(0).t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: inp.g used in place of inp in w.g | w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.g.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: w times b.g in w.g | w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    b.g = out.g.sum(0)
    w.g = w * b.g


# %% wrong: out used in place of out.g in w.g | w.g: value-for-gradient
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out
    b.g = out.g.sum(0)


# %% wrong: w itself in w.g | w.g: forward-value
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = w
    b.g = out.g.sum(0)


# %% wrong: w added to w.g, as by weight decay | w.g: wrong-local
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g + w
    b.g = out.g.sum(0)


# %% wrong: ones in b.g | b.g: missing-upstream or hard-coded
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = torch.ones_like(b)


# %% wrong: b.g not summed over the batch | b.g: missing-batch-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g


# %% wrong: largest row entry instead of the sum | b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.max(0).values


# %% wrong: b.g without the first row | b.g: partial-batch
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = torch.zeros_like(b)
    for i in range(1, len(out.g)):
        b.g += out.g[i]


# %% wrong: b.g summed over the outputs instead of the batch | b.g: summed-wrong-axis
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(1)


# %% wrong: b.g from a running sum, summed again | b.g: wrong-factor
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.cumsum(0).sum(0)


# %% wrong: w.g summed in place of out.g in b.g | b.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = w.g.sum(0)


# %% wrong: out.g squeezed before the sum in b.g | b.g: shape-special
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.squeeze().sum(0)


# %% wrong: b.g weighted by the output | b.g: wrong-local or extra-factor
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = (out.g * out).sum(0)


# %% wrong: ones in place of out.g in inp.g and w.g | inp.g, w.g: missing-upstream
import torch


def lin_grad(inp, out, w, b):
    ones = torch.ones_like(out)
    inp.g = ones @ w.t()
    w.g = inp.t() @ ones
    b.g = out.g.sum(0)


# %% wrong: neither w.g nor b.g summed over the batch | w.g, b.g: missing-batch-sum
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.unsqueeze(-1) * out.g.unsqueeze(1)
    b.g = out.g


# %% wrong: pairs of rows, an odd last row left out | w.g, b.g: partial-batch
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    b.g = torch.zeros_like(b)
    for i in range(len(inp) // 2):
        w.g += inp[2*i:2*i+2].t() @ out.g[2*i:2*i+2]
        b.g += out.g[2*i:2*i+2].sum(0)


# %% wrong: only every other row | w.g, b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[::2].t() @ out.g[::2]
    b.g = out.g[::2].sum(0)


# %% wrong: only the first half of the batch | w.g, b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    k = len(inp) // 2
    w.g = inp[:k].t() @ out.g[:k]
    b.g = out.g[:k].sum(0)


# %% wrong: only the first row of the batch | w.g, b.g: partial-batch
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.outer(inp[0], out.g[0])
    b.g = out.g[0].clone()


# %% wrong: the first and the last row left out | w.g, b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[1:-1].t() @ out.g[1:-1]
    b.g = out.g[1:-1].sum(0)


# %% wrong: inp.g divided by its size, w.g viewed instead of transposed, b.g one number | inp.g: mean-for-sum; w.g: reshape-for-transpose; b.g: wrong-shape
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t() / len(w)
    w.g = (out.g.t() @ inp).view(w.shape) / len(inp)
    b.g = out.g.mean()


# %% wrong: averaged over the batch, both w.g and b.g | w.g, b.g: mean-for-sum
def lin_grad(inp, out, w, b):
    bs = inp.shape[0]
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / bs
    b.g = out.g.mean(0)


# %% wrong: reshaped instead of transposed, in both products | inp.g, w.g: reshape-for-transpose
def lin_grad(inp, out, w, b):
    bs, n = inp.shape
    m = w.shape[1]
    inp.g = out.g @ w.reshape(m, n)
    w.g = inp.reshape(n, bs) @ out.g
    b.g = out.g.sum(0)


# %% wrong: absolute values everywhere | inp.g: wrong-sign; w.g, b.g: not-linear or wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()).abs()
    w.g = inp.t() @ out.g.abs()
    b.g = out.g.abs().sum(0)


# %% wrong: minus signs on both parameters, to go downhill | w.g, b.g: wrong-sign
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = -inp.t() @ out.g
    b.g = -out.g.sum(0)


# %% wrong: the last row counted twice | w.g, b.g: wrong-factor
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[-1:].t() @ out.g[-1:]
    b.g = out.g[-1]
    for i in range(len(inp)):
        w.g = w.g + torch.outer(inp[i], out.g[i])
        b.g = b.g + out.g[i]


# %% wrong: an upstream gradient of one's own | inp.g, w.g, b.g: hard-coded
def lin_grad(inp, out, w, b):
    g = (inp @ w + b) - out
    inp.g = g @ w.t()
    w.g = inp.t() @ g
    b.g = g.sum(0)


# %% wrong: the parameters after an update | w.g, b.g: wrong-local
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    b.g = b - 0.1 * out.g.sum(0)
    w.g = w - 0.1 * inp.t() @ out.g


# %% wrong: b.g left as dots | b.g: todo
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = ...


# %% wrong: all three left as dots | *: todo
def lin_grad(inp, out, w, b):
    inp.g = ...
    w.g = ...
    b.g = ...


# %% wrong: the function inside a class | *: missing-function
class Linear:
    def lin_grad(self, inp, out, w, b):
        inp.g = out.g @ w.t()
        w.g = inp.t() @ out.g
        b.g = out.g.sum(0)


# %% wrong: a misspelt import | b.g: error
import troch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = troch.sum(out.g, 0)


# %% wrong: both products without a transpose | *: error
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w
    w.g = inp @ out.g
    b.g = out.g.sum(0)


# %% wrong: b.g used in place of out.g | *: error
def lin_grad(inp, w, b):
    inp.g = b.g @ w.t()
    w.g = inp.t() @ b.g


# %% wrong: the sizes of a notebook written into the code | *: error or hard-coded
import torch
def lin_grad(inp, out, w, b):
    inp.g = torch.zeros(64, 784)
    inp.g[:] = out.g @ w.t()
    w.g = torch.zeros(784, 50)
    w.g[:] = inp.t() @ out.g
    b.g = torch.zeros(50)
    b.g[:] = out.g.sum(0)


# %% wrong: an endless loop behind the first gradient, which counts | w.g, b.g: timeout
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.T
    while len(w) > 0:
        pass
    w.g = inp.T @ out.g
    b.g = out.g.sum(0)

# %% wrong: it catches whatever ends its endless loop | w.g, b.g: timeout
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.T
    while True:
        try:
            while len(w) > 0:
                w.g = inp.T @ out.g * len(w)
        except:
            pass

# %% wrong: waits for an attribute that never comes | *: timeout
import time


def lin_grad(inp, out, w, b):
    while not hasattr(out, "gradient"):
        time.sleep(0.01)
    inp.g = out.gradient @ w.t()
    w.g = inp.t() @ out.gradient
    b.g = out.gradient.sum(0)


# %% wrong: an array of a million by a million | *: memory
import torch


def lin_grad(inp, out, w, b):
    everything = torch.ones(10**6, 10**6)
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = everything[: len(out.g), 0] @ out.g


# %% wrong: a null pointer read | *: crash
import ctypes


def lin_grad(inp, out, w, b):
    peek = ctypes.string_at(0)
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: b.g stored under a local name only | b.g: missing-answer
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b_g = out.g.sum(0)


# %% wrong: all three returned instead of stored | *: returned-not-stored
def lin_grad(inp, out, w, b):
    dinp = out.g @ w.t()
    dw = inp.t() @ out.g
    db = out.g.sum(0)
    return dinp, dw, db


# %% wrong: w.g stored in .gradient | w.g: wrong-attribute
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.gradient = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: w.g and b.g stored in .grad | w.g, b.g: wrong-attribute
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.grad = inp.t() @ out.g
    b.grad = out.g.sum(0)


# %% wrong: all three stored in .grad | *: wrong-attribute
def lin_grad(inp, out, w, b):
    inp.grad = out.g @ w.t()
    w.grad = inp.t() @ out.g
    b.grad = out.g.sum(0)


# %% wrong: b.g as a list of floats | b.g: wrong-type
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = [column.sum().item() for column in out.g.t()]


# %% right: NumPy arrays stored
def lin_grad(inp, out, w, b):
    g = out.g.numpy()
    inp.g = g @ w.numpy().T
    w.g = inp.numpy().T @ g
    b.g = g.sum(0)


# %% wrong: NumPy arrays, the batch averaged away in one and its axis kept in another | w.g: mean-for-sum; b.g: wrong-shape
def lin_grad(inp, out, w, b):
    g = out.g.numpy()
    inp.g = g @ w.numpy().T
    w.g = inp.numpy().T @ g / len(g)
    b.g = g.sum(0, keepdims=True)


# %% wrong: w.g with a comma at the end of its line | w.g: wrong-type
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g,
    b.g = out.g.sum(0)


# %% wrong: b.g is a method that was not called | b.g: wrong-type
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum


# %% wrong: b.g with its batch axis kept | b.g: wrong-shape
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0, keepdim=True)


# %% wrong: b.g in float64 | b.g: wrong-dtype
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0, dtype=torch.float64)


# %% wrong: out.g divided by the batch size in place | *: mutated-input
def lin_grad(inp, out, w, b):
    out.g /= inp.shape[0]
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: autograd through backward | *: used-autograd
def lin_grad(inp, out, w, b):
    i, ww, bb = (t.clone().requires_grad_() for t in (inp, w, b))
    (i @ ww + bb).backward(out.g)
    inp.g, w.g, b.g = i.grad, ww.grad, bb.grad


# %% wrong: autograd through torch.autograd.grad | *: used-autograd
import torch
def lin_grad(inp, out, w, b):
    i, ww, bb = [t.clone().requires_grad_() for t in (inp, w, b)]
    res = i @ ww + bb
    gi, gw, gb = torch.autograd.grad(res, [i, ww, bb], out.g)
    inp.g, w.g, b.g = gi, gw, gb


# %% right: plots and tables at the top
from IPython.display import display
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

sns.set_theme()
fig, axes = plt.subplots(1, 2)
display(pd.DataFrame({"step": [1, 2]}))


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% right: one line imports what is not there, and numpy
import torch
import matplotlib; import scipy, numpy as np


def lin_grad(inp, out, w, b):
    inp.g = torch.from_numpy(np.dot(out.g.numpy(), w.numpy().T))
    w.g = torch.from_numpy(np.dot(inp.numpy().T, out.g.numpy()))
    b.g = torch.from_numpy(np.sum(out.g.numpy(), axis=0))


# %% right: a progress bar around the rows
import torch
from tqdm import tqdm


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g, b.g = torch.zeros_like(w), torch.zeros_like(b)
    for row, row_g in tqdm(zip(inp, out.g), total=len(inp)):
        w.g += row[:, None] * row_g
        b.g += row_g


# %% right: a self-check at the end that stops
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
    assert b.g.shape == w.shape


# %% wrong: stopped before the bias | b.g: error
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.grad.sum(0)


# %% wrong: stopped one row beyond the last | b.g: error
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for i in range(len(inp) + 1):
        w.g += inp[i][:, None] * out.g[i]
    b.g = out.g.sum(0)


# %% wrong: asks for a number | *: error
def lin_grad(inp, out, w, b):
    rows = int(input("How many rows? "))
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g[:rows].sum(0)


# %% wrong: a breakpoint that was left | w.g, b.g: error
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    breakpoint()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: a table in place of a sum | b.g: error
import pandas as pd


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0) + pd.Series([0.0])


# %% wrong: answers kept by shape | *: not-repeatable
known = {}


def lin_grad(inp, out, w, b):
    sizes = inp.shape, w.shape
    if sizes not in known:
        known[sizes] = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
    inp.g, w.g, b.g = known[sizes]


# %% wrong: the sum of a layer goes on from call to call | b.g: not-repeatable
total = {}


def lin_grad(inp, out, w, b):
    if total.get("shape") != b.shape:
        total.update(shape=b.shape, sum=0)
    total["sum"] = total["sum"] + out.g.sum(0)
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = total["sum"]


# %% wrong: the input of the last call where it fits | w.g: not-repeatable
last = []


def lin_grad(inp, out, w, b):
    saved = last[-1] if last and last[-1].shape == inp.shape else inp
    last.append(inp)
    inp.g = out.g @ w.t()
    w.g = saved.t() @ out.g
    b.g = out.g.sum(0)

# %% wrong: eighteen axes more | b.g: wrong-shape or broadcast-accident
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0).reshape(*[1] * 17, -1)


# %% right: small, empty and large attributes beside the gradients
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
    inp.mask = (inp > 0).to(torch.uint16)
    w.empty = torch.zeros(0, 1 << 27)
    for number in range(4):
        setattr(b, f"buffer{number}", torch.zeros(1 << 20))


# %% wrong: the sum over the batch in a dtype that numpy lacks | b.g: wrong-dtype
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0).to(torch.float8_e4m3fn)


# %% wrong: one nan for the whole bias | b.g: wrong-shape
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum() * float('nan')


# %% wrong: many functions, and an exception behind them | *: error
def helper0():
    pass


def helper1():
    pass


def helper2():
    pass


def helper3():
    pass


def helper4():
    pass


def helper5():
    pass


def helper6():
    pass


def helper7():
    pass


def helper8():
    pass


def helper9():
    pass


def helper10():
    pass


def helper11():
    pass


def helper12():
    pass


def helper13():
    pass


def helper14():
    pass


def helper15():
    pass


def helper16():
    pass


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


print(undefined)


# %% wrong: no gradient for an input that is 0, as if it were not there | inp.g: wrong-local
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()) * (inp != 0)
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


# %% wrong: weights that are 0 are left as they are, as in a pruned layer | w.g: wrong-local
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g * (w != 0)
    b.g = out.g.sum(0)
