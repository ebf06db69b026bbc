# stack_grad: out = torch.stack((a, b), dim)

# %% right: select
def stack_grad(a, b, out, dim):
    a.g = out.g.select(dim, 0)
    b.g = out.g.select(dim, 1)


# %% right: the axis moved to the front
def stack_grad(a, b, out, dim):
    g = out.g.movedim(dim, 0)
    a.g, b.g = g[0], g[1]


# %% right: einsum with picks, float64
import torch


def stack_grad(a, b, out, dim):
    g = out.g.double().movedim(dim, -1)
    a.g = torch.einsum("ijk,k->ij", g, torch.tensor([1.0, 0.0]).double()).float()
    b.g = torch.einsum("ijk,k->ij", g, torch.tensor([0.0, 1.0]).double()).float()


# %% wrong: a and b exchanged | a.g, b.g: wrong-operand or unknown or overwritten or wrong-local
def stack_grad(a, b, out, dim):
    b.g, a.g = out.g.unbind(dim)


# %% wrong: both added up | a.g, b.g: extra-batch-sum or wrong-local or unknown or summed-wrong-axis or wrong-operand
def stack_grad(a, b, out, dim):
    a.g = out.g.sum(dim)
    b.g = out.g.sum(dim)


# %% wrong: new axis left in | a.g, b.g: wrong-shape or shape-special
def stack_grad(a, b, out, dim):
    a.g, b.g = out.g.split(1, dim)


# %% wrong: always the first axis | a.g, b.g: wrong-shape or error or hard-coded
def stack_grad(a, b, out, dim):
    a.g = out.g[0]
    b.g = out.g[1]


# %% wrong: always the last axis | a.g, b.g: wrong-shape or hard-coded
def stack_grad(a, b, out, dim):
    a.g = out.g[..., 0]
    b.g = out.g[..., 1]


# %% wrong: all of out.g | a.g, b.g: wrong-shape or missing-local
def stack_grad(a, b, out, dim):
    a.g = out.g
    b.g = out.g


# %% wrong: reshaped instead of taken out | a.g, b.g: reshape-for-transpose
def stack_grad(a, b, out, dim):
    g = out.g.reshape(2, *a.shape)
    a.g, b.g = g[0], g[1]


# %% wrong: the mean of both | a.g, b.g: wrong-local or unknown or mean-for-sum or summed-wrong-axis or wrong-operand
def stack_grad(a, b, out, dim):
    a.g = out.g.mean(dim)
    b.g = out.g.mean(dim)


# %% wrong: upstream gradient missing | a.g, b.g: missing-upstream
import torch


def stack_grad(a, b, out, dim):
    a.g, b.g = torch.ones_like(a), torch.ones_like(b)


# %% wrong: values | a.g, b.g: forward-value or value-for-gradient
def stack_grad(a, b, out, dim):
    a.g, b.g = a.clone(), b.clone()


# %% wrong: a twice | b.g: wrong-operand or unknown or wrong-local
def stack_grad(a, b, out, dim):
    a.g = out.g.select(dim, 0)
    b.g = out.g.select(dim, 0)


# %% wrong: minus for b | b.g: wrong-sign
def stack_grad(a, b, out, dim):
    a.g = out.g.select(dim, 0)
    b.g = -out.g.select(dim, 1)


# %% wrong: cut with narrow, which keeps the axis | a.g, b.g: wrong-shape or hard-coded or error or shape-special
def stack_grad(a, b, out, dim):
    a.g, b.g = out.g.narrow(dim, 0, 1), out.g.narrow(dim, 1, 1)


# %% wrong: b multiplied by a | b.g: wrong-operand or extra-factor
def stack_grad(a, b, out, dim):
    a.g = out.g.select(dim, 0)
    b.g = out.g.select(dim, 1) * a
