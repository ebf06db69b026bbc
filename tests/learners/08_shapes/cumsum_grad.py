# cumsum_grad: out = inp.cumsum(dim)

# %% right: NumPy's flip and cumsum
import numpy as np
import torch


def cumsum_grad(inp, out, dim):
    turned = np.flip(out.g.numpy(), dim)
    inp.g = torch.from_numpy(np.flip(np.cumsum(turned, axis=dim), dim).copy())


# %% right: total minus what came before, in float64
def cumsum_grad(inp, out, dim):
    g = out.g.double()
    inp.g = (g.sum(dim, keepdim=True) - g.cumsum(dim) + g).float()


# %% right: total minus what came before
def cumsum_grad(inp, out, dim):
    inp.g = out.g.sum(dim, keepdim=True) - out.g.cumsum(dim) + out.g


# %% right: a triangular matrix from the left
import torch


def cumsum_grad(inp, out, dim):
    n = inp.shape[dim]
    reaches = torch.ones(n, n).triu()
    inp.g = (reaches @ out.g.movedim(dim, 0).reshape(n, -1)).reshape(out.g.movedim(dim, 0).shape).movedim(0, dim)


# %% right: a triangular matrix from the right
import torch


def cumsum_grad(inp, out, dim):
    g = out.g.movedim(dim, -1)
    n = g.shape[-1]
    inp.g = (g @ torch.tril(torch.ones(n, n, dtype=g.dtype))).movedim(-1, dim)


# %% right: a triangular matrix, and tensordot
import torch


def cumsum_grad(inp, out, dim):
    n = inp.shape[dim]
    t = torch.tril(torch.ones(n, n))
    inp.g = torch.tensordot(out.g.movedim(dim, -1), t, 1).movedim(-1, dim)


# %% right: a loop from the last slice to the first
import torch


def cumsum_grad(inp, out, dim):
    inp.g = torch.zeros_like(inp)
    running = torch.zeros_like(out.g.select(dim, 0))
    for i in reversed(range(inp.shape[dim])):
        running = running + out.g.select(dim, i)
        inp.g.select(dim, i).copy_(running)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
import torch


def cumsum_grad(inp, out, dim):
    inp.g = torch.ones_like(inp).flip(dim).cumsum(dim).flip(dim)


# %% wrong: upstream gradient copied | inp.g: missing-local
def cumsum_grad(inp, out, dim):
    inp.g = out.g.clone()


# %% wrong: multiplied by inp | inp.g: extra-factor
def cumsum_grad(inp, out, dim):
    inp.g = inp * out.g.flip(dim).cumsum(dim).flip(dim)


# %% wrong: total minus a running sum that counts its own entry | inp.g: missing-path
def cumsum_grad(inp, out, dim):
    total = out.g.sum(dim, keepdim=True)
    inp.g = total - out.g.cumsum(dim)


# %% wrong: own entry subtracted | inp.g: missing-path
def cumsum_grad(inp, out, dim):
    inp.g = out.g.flip(dim).cumsum(dim).flip(dim) - out.g


# %% wrong: divided by the size of the axis | inp.g: mean-for-sum
import torch

def cumsum_grad(inp, out, dim):
    n = inp.shape[dim]
    inp.g = out.g.flip(dim).cumsum(dim).flip(dim) / n


# %% wrong: always along the first axis | inp.g: summed-wrong-axis or hard-coded
def cumsum_grad(inp, out, dim):
    inp.g = out.g.flip(0).cumsum(0).flip(0)


# %% wrong: always along the last axis | inp.g: summed-wrong-axis or hard-coded
def cumsum_grad(inp, out, dim):
    inp.g = out.g.flip(-1).cumsum(-1).flip(-1)


# %% wrong: an extra minus sign | inp.g: wrong-sign
def cumsum_grad(inp, out, dim):
    inp.g = -out.g.flip(dim).cumsum(dim).flip(dim)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def cumsum_grad(inp, out, dim):
    inp.g = out.flip(dim).cumsum(dim).flip(dim)


# %% wrong: differences, which undo a running sum | inp.g: inverse-for-transpose or wrong-local or unknown
import torch


def cumsum_grad(inp, out, dim):
    before = torch.zeros_like(out.g.narrow(dim, 0, 1))
    inp.g = torch.diff(out.g, dim=dim, prepend=before)


# %% wrong: negative dim taken as the second axis | inp.g: hard-coded or shape-special or unknown
import torch


def cumsum_grad(inp, out, dim):
    if dim == 0:
        inp.g = out.g.flip(0).cumsum(0).flip(0)
    else:
        inp.g = out.g.flip(1).cumsum(1).flip(1)


# %% wrong: sums from both ends added | inp.g: wrong-local or missing-path or extra-factor or unknown
def cumsum_grad(inp, out, dim):
    inp.g = out.g.cumsum(dim) + out.g.flip(dim).cumsum(dim).flip(dim)


# %% wrong: not flipped back | inp.g: wrong-local
def cumsum_grad(inp, out, dim):
    inp.g = out.g.flip(dim).cumsum(dim)


# %% wrong: summed from the front once more | inp.g: wrong-local or transposed
def cumsum_grad(inp, out, dim):
    inp.g = out.g.cumsum(dim)


# %% wrong: total in every entry | inp.g: wrong-local
def cumsum_grad(inp, out, dim):
    inp.g = out.g.sum(dim, keepdim=True).expand(inp.shape)


# %% wrong: flipped only at the end | inp.g: wrong-local
def cumsum_grad(inp, out, dim):
    inp.g = out.g.cumsum(dim).flip(dim)


# %% wrong: out.g times the number of later entries | inp.g: wrong-local or extra-factor
import torch


def cumsum_grad(inp, out, dim):
    counts = torch.ones_like(inp).flip(dim).cumsum(dim).flip(dim)
    inp.g = out.g * counts


# %% wrong: undone by differences of neighbours | inp.g: inverse-for-transpose
import torch


def cumsum_grad(inp, out, dim):
    g = out.g.transpose(0, dim)
    nothing = torch.zeros_like(g[:1])
    inp.g = (g - torch.cat([g[1:], nothing])).transpose(0, dim)
