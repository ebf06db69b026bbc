# bmm_grad: out = a @ b, for each example of a batch

# %% right: products by broadcasting, then summed
def bmm_grad(a, b, out):
    a.g = (out.g[:, :, None, :] * b[:, None, :, :]).sum(-1)
    b.g = (a[:, :, :, None] * out.g[:, :, None, :]).sum(1)


# %% right: one example at a time, in lists that are stacked
import torch
def bmm_grad(a, b, out):
    ag, bg = [], []
    for A, B, G in zip(a, b, out.g):
        ag.append(G @ B.t())
        bg.append(A.t() @ G)
    a.g, b.g = torch.stack(ag), torch.stack(bg)


# %% right: one example at a time, in a comprehension
import torch


def bmm_grad(a, b, out):
    rows = [(g @ y.t(), x.t() @ g) for x, y, g in zip(a, b, out.g)]
    a.g, b.g = (torch.stack(list(part)) for part in zip(*rows))


# %% right: one example at a time, stored by index
import torch


def bmm_grad(a, b, out):
    a.g = torch.zeros_like(a)
    b.g = torch.zeros_like(b)
    for i in range(len(a)):
        a.g[i] = out.g[i] @ b[i].T
        b.g[i] = a[i].T @ out.g[i]


# %% right: nested comprehensions over plain floats
import torch


def bmm_grad(a, b, out):
    (bs, n, k), m = a.shape, b.shape[2]
    A, B, G = a.tolist(), b.tolist(), out.g.tolist()
    a.g = torch.tensor(
        [[[sum(G[s][i][j] * B[s][l][j] for j in range(m)) for l in range(k)] for i in range(n)] for s in range(bs)]
    )
    b.g = torch.tensor(
        [[[sum(G[s][i][j] * A[s][i][l] for i in range(n)) for j in range(m)] for l in range(k)] for s in range(bs)]
    )


# %% right: bmm with swapaxes and permute
def bmm_grad(a, b, out):
    a.g = out.g.bmm(b.swapaxes(1, 2))
    b.g = a.permute(0, 2, 1).bmm(out.g)


# %% right: einsum
import torch


def bmm_grad(a, b, out):
    a.g = torch.einsum("znm,zkm->znk", out.g, b)
    b.g = torch.einsum("znk,znm->zkm", a, out.g)


# %% wrong: ones in place of out.g in a.g | a.g: missing-upstream
import torch


def bmm_grad(a, b, out):
    a.g = torch.ones_like(out.g) @ b.mT
    b.g = a.mT @ out.g


# %% wrong: a.g averaged over the batch, then expanded | a.g: extra-batch-sum or mean-for-sum
def bmm_grad(a, b, out):
    a.g = (out.g @ b.transpose(1, 2)).mean(0).expand(a.shape)
    b.g = a.transpose(1, 2) @ out.g


# %% wrong: b reshaped instead of transposed in a.g | a.g: reshape-for-transpose
def bmm_grad(a, b, out):
    bs, k, m = b.shape
    a.g = out.g @ b.reshape(bs, m, k)
    b.g = a.transpose(1, 2) @ out.g


# %% wrong: pseudo-inverse of b in place of its transpose | a.g: inverse-for-transpose
import torch


def bmm_grad(a, b, out):
    a.g = out.g @ torch.linalg.pinv(b)
    b.g = a.mT @ out.g


# %% wrong: b.g summed over the batch, as for shared weights | b.g: extra-batch-sum
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(-1, -2)
    # sum over the batch like for w
    b.g = (a.transpose(-1, -2) @ out.g).sum(0)


# %% wrong: b.g summed over the batch, then expanded | b.g: extra-batch-sum
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(1, 2)
    b.g = (a.transpose(1, 2) @ out.g).sum(0).expand(b.shape)


# %% wrong: only the first example of a in b.g | b.g: partial-batch or wrong-operand
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(1, 2)
    b.g = a[0].t() @ out.g


# %% wrong: b.g transposed | b.g: transposed
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(1, 2)
    b.g = out.g.transpose(1, 2) @ a


# %% wrong: a.g used in place of a in b.g | b.g: wrong-operand
def bmm_grad(a, b, out):
    a.g = out.g.bmm(b.transpose(1, 2))
    b.g = a.g.transpose(1, 2).bmm(out.g)


# %% wrong: each example paired with another one's a | b.g: wrong-operand
def bmm_grad(a, b, out):
    a.g = out.g @ b.mT
    b.g = a.flip(0).mT @ out.g


# %% wrong: reshaped instead of transposed, in both | a.g, b.g: reshape-for-transpose
def bmm_grad(a, b, out):
    bs, n, k = a.shape
    m = b.shape[2]
    a.g = out.g @ b.reshape(bs, m, k)
    b.g = a.reshape(bs, k, n) @ out.g


# %% wrong: out used in place of out.g, in both | a.g, b.g: value-for-gradient
def bmm_grad(a, b, out):
    a.g = out @ b.mT
    b.g = a.mT @ out


# %% wrong: factors of both products exchanged | a.g, b.g: error
def bmm_grad(a, b, out):
    a.g = b.transpose(1, 2) @ out.g
    b.g = out.g @ a.transpose(1, 2)


# %% wrong: t() on three axes | *: error
def bmm_grad(a, b, out):
    a.g = out.g @ b.t()
    b.g = a.t() @ out.g


# %% wrong: entries of a that are 0 get none | a.g: wrong-local
def bmm_grad(a, b, out):
    a.g = out.g @ b.mT * (a != 0)
    b.g = a.mT @ out.g
