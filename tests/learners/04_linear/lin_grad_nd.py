# lin_grad_nd: out = inp @ w + b, inp of shape (bs, t, n)

# %% right: einsum over any number of axes
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.einsum("...m,nm->...n", out.g, w)
    w.g = torch.einsum("...n,...m->nm", inp, out.g)
    b.g = out.g.sum(tuple(range(out.g.dim() - 1)))


# %% right: einsum over the named axes
import torch
def lin_grad_nd(inp, out, w, b):
    inp.g = torch.einsum('btm,nm->btn', out.g, w)
    w.g = torch.einsum('btn,btm->nm', inp, out.g)
    b.g = torch.einsum('btm->m', out.g)


# %% right: both leading axes made one
def lin_grad_nd(inp, out, w, b):
    x = inp.reshape(-1, inp.shape[-1])
    g = out.g.reshape(-1, out.g.shape[-1])
    inp.g = (g @ w.t()).view(inp.shape)
    w.g = x.t() @ g
    b.g = g.sum(0)


# %% right: one step of time after the other
import torch


def lin_grad_nd(inp, out, w, b):
    dx, w.g, b.g = [], torch.zeros_like(w), torch.zeros_like(b)
    for x_t, g_t in zip(inp.unbind(1), out.g.unbind(1)):
        dx.append(g_t @ w.t())
        w.g += x_t.t() @ g_t
        b.g += g_t.sum(0)
    inp.g = torch.stack(dx, 1)


# %% right: tensordot
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.tensordot(out.g, w, dims=([2], [1]))
    w.g = torch.tensordot(inp, out.g, dims=([0, 1], [0, 1]))
    b.g = torch.tensordot(torch.ones(out.shape[:2]), out.g, dims=2)


# %% right: one sequence after the other
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.stack([g @ w.T for g in out.g])
    w.g = sum(x.T @ g for x, g in zip(inp, out.g, strict=True))
    b.g = out.g.flatten(0, -2).sum(0)


# %% wrong: inp.g summed over the batch | inp.g: extra-batch-sum
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = (out.g @ w.t()).sum(0)
    w.g = torch.einsum("btn,btm->nm", inp, out.g)
    b.g = out.g.sum((0, 1))


# %% wrong: out used in place of out.g in inp.g | inp.g: value-for-gradient
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = out @ w.t()
    w.g = torch.einsum("btn,btm->nm", inp, out.g)
    b.g = out.g.sum((0, 1))


# %% wrong: w.g not summed over the sequences | w.g: missing-batch-sum
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.transpose(1, 2) @ out.g
    b.g = out.g.sum((0, 1))


# %% wrong: w.g from the last step of time alone | w.g: partial-batch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[:, -1].t() @ out.g[:, -1]
    b.g = out.g.sum((0, 1))


# %% wrong: w.g averaged over the sequences | w.g: mean-for-sum
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.transpose(1, 2) @ out.g).mean(0)
    b.g = out.g.sum((0, 1))


# %% wrong: inp and out.g summed over time before they are multiplied, b.g too | w.g: sum-of-products
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    # get rid of t first, then it is the 2d case
    x, g = inp.sum(1), out.g.sum(1)
    w.g = x.t() @ g
    b.g = g.sum(0)


# %% wrong: inp and out.g summed over time before they are multiplied | w.g: sum-of-products
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.sum(1).t() @ out.g.sum(1)
    b.g = out.g.sum((0, 1))


# %% wrong: mean of inp over time times the sum of out.g | w.g: sum-of-products
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.mean(1).t() @ out.g.sum(1)
    b.g = out.g.sum((0, 1))


# %% wrong: w.g transposed | w.g: transposed
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.einsum("btm,nm->btn", out.g, w)
    w.g = torch.einsum("btn,btm->mn", inp, out.g)
    b.g = torch.einsum("btm->m", out.g)


# %% wrong: inp and out.g flattened in different orders | w.g: reshape-for-transpose
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(-1, n).t() @ out.g.transpose(0, 1).reshape(-1, m)
    b.g = out.g.sum((0, 1))


# %% wrong: inp reshaped instead of transposed in w.g | w.g: reshape-for-transpose
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(n, -1) @ out.g.reshape(-1, m)
    b.g = out.g.sum(1).sum(0)


# %% wrong: w.g overwritten by each step of time | w.g: overwritten or partial-batch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    for t in range(inp.shape[1]):
        w.g = inp[:, t].t() @ out.g[:, t]
    b.g = out.g.sum(0).sum(0)


# %% wrong: the first step's inp for every step | w.g: partial-batch
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.einsum("bn,btm->nm", inp[:, 0], out.g)
    b.g = out.g.sum((0, 1))


# %% wrong: b.g not summed over time | b.g: missing-batch-sum
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(-1, n).t() @ out.g.reshape(-1, m)
    b.g = out.g.sum(0)


# %% wrong: b.g averaged over time | b.g: mean-for-sum
import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.einsum("btn,btm->nm", inp, out.g)
    b.g = out.g.mean(1).sum(0)


# %% wrong: b.g summed over time and the outputs | b.g: summed-wrong-axis
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(-1, n).t() @ out.g.reshape(-1, m)
    b.g = out.g.sum((1, 2))


# %% wrong: w.g and b.g not summed over time | w.g, b.g: missing-batch-sum
import torch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.einsum("btn,btm->tnm", inp, out.g)
    b.g = out.g.sum(0)


# %% wrong: w.g and b.g from the first sequence alone | w.g, b.g: partial-batch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[0].t() @ out.g[0]
    b.g = out.g[0].sum(0)


# %% wrong: w.g and b.g averaged over the sequences | w.g, b.g: mean-for-sum
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.transpose(1, 2) @ out.g).mean(0)
    b.g = out.g.sum(1).mean(0)


# %% wrong: t() on three axes | *: error
def lin_grad_nd(inp, out, w, b):
    w.g = inp.t() @ out.g
    inp.g = out.g @ w.t()
    b.g = out.g.sum(0).sum(0)


# %% wrong: inp.g left with both leading axes made one | inp.g: wrong-shape
def lin_grad_nd(inp, out, w, b):
    x, g = inp.flatten(0, 1), out.g.flatten(0, 1)
    inp.g = g @ w.t()
    w.g = x.t() @ g
    b.g = g.sum(0)


# %% wrong: equal entries of the upstream gradient are counted once | b.g: wrong-local
def lin_grad_nd(inp, out, w, b):
    rows = out.g.reshape(-1, out.g.shape[-1])
    inp.g = out.g @ w.t()
    w.g = inp.reshape(-1, inp.shape[-1]).t() @ rows
    b.g = b.new_tensor([sum(set(column)) for column in rows.t().tolist()])
