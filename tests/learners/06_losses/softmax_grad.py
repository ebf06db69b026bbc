# softmax_grad: out = inp.softmax(-1)

# %% right: all Jacobians at once, by bmm
import torch


def softmax_grad(inp, out):
    p = inp.softmax(-1)
    jac = torch.diag_embed(p) - p.unsqueeze(-1) @ p.unsqueeze(-2)
    inp.g = torch.bmm(jac, out.g.unsqueeze(-1))[..., 0]


# %% right: difference from a weighted mean, in NumPy
import numpy as np
import torch


def softmax_grad(inp, out):
    y, g = out.double().numpy(), out.g.double().numpy()
    mean = np.average(g, axis=1, weights=y)
    inp.g = torch.as_tensor(y * (g - mean[:, None]), dtype=inp.dtype)


# %% right: quotient rule on the exponentials
def softmax_grad(inp, out):
    e = inp.exp()
    s = e.sum(1, keepdim=True)
    e_g = out.g / s
    s_g = -(out.g * e / s ** 2).sum(1, keepdim=True)
    inp.g = (e_g + s_g) * e


# %% right: the Jacobian of each row
import torch


def softmax_grad(inp, out):
    rows = []
    for y, g in zip(out, out.g):
        jacobian = torch.diag(y) - torch.outer(y, y)
        rows.append(jacobian @ g)
    inp.g = torch.stack(rows)


# %% right: einsum
import torch


def softmax_grad(inp, out):
    inp.g = torch.einsum("ij,ij->ij", out, out.g) - torch.einsum("ij,ik,ik->ij", out, out, out.g)


# %% wrong: upstream gradient missing, the Jacobian summed | inp.g: missing-upstream
import torch


def softmax_grad(inp, out):
    jac = torch.diag_embed(out) - out.unsqueeze(2) * out.unsqueeze(1)
    inp.g = jac.sum(-1)


# %% wrong: upstream gradient missing, the diagonal of the Jacobian | inp.g: missing-upstream or diagonal-only
def softmax_grad(inp, out):
    inp.g = out * (1 - out)


# %% wrong: upstream gradient missing in the first term | inp.g: missing-upstream
def softmax_grad(inp, out):
    inp.g = out - out * (out.g * out).sum(-1, keepdim=True)


# %% wrong: upstream gradient missing, so that nothing is left | inp.g: missing-upstream
def softmax_grad(inp, out):
    inp.g = out * (1 - out.sum(-1, keepdim=True))


# %% wrong: upstream gradient missing in the sum | inp.g: missing-upstream
def softmax_grad(inp, out):
    inp.g = out * (out.g - out.sum(-1, keepdim=True))


# %% wrong: out missing in front of both terms, in a Jacobian | inp.g: missing-local
import torch


def softmax_grad(inp, out):
    # forgot that row i is scaled by out[i]
    jac = torch.eye(out.shape[1]) - out.unsqueeze(1)
    inp.g = (jac @ out.g.unsqueeze(-1)).squeeze(-1)


# %% wrong: mean of out.g in place of the sum weighted by out | inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out * (out.g - out.g.mean(-1, keepdim=True))


# %% wrong: out missing in the sum | inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out * (out.g - out.g.sum(-1, keepdim=True))


# %% wrong: out missing in front of the sum | inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out * out.g - (out * out.g).sum(-1, keepdim=True)


# %% wrong: upstream gradient copied, torch imported at the end | inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out.g * torch.ones_like(inp)


import torch  # at the end of the file, and found all the same


# %% wrong: upstream gradient squared | inp.g: extra-factor
def softmax_grad(inp, out):
    g = out.g * out.g
    inp.g = out * (g - (out * g).sum(-1, keepdim=True))


# %% wrong: the path through the numerator missing | inp.g: missing-path
def softmax_grad(inp, out):
    inp.g = -out * (out * out.g).sum(-1, keepdim=True)


# %% wrong: a diagonal matrix of out as the Jacobian | inp.g: missing-path
import torch


def softmax_grad(inp, out):
    jac = torch.diag_embed(out)
    inp.g = (jac @ out.g.unsqueeze(-1)).squeeze(-1)


# %% wrong: the path through the denominator missing | inp.g: missing-path
def softmax_grad(inp, out):
    inp.g = out * out.g


# %% wrong: only the entries off the diagonal of the Jacobian | inp.g: missing-path
def softmax_grad(inp, out):
    total = (out * out.g).sum(-1, keepdim=True)
    inp.g = -out * (total - out * out.g)


# %% wrong: out times the sum of out.g | inp.g: missing-path
def softmax_grad(inp, out):
    inp.g = out * out.g.sum(-1, keepdim=True)


# %% wrong: only the first row | inp.g: partial-batch
import torch


def softmax_grad(inp, out):
    y, g = out[0], out.g[0]
    inp.g = torch.zeros_like(inp)
    inp.g[0] = y * (g - (g * y).sum())


# %% wrong: the first row's Jacobian for every row | inp.g: partial-batch
import torch

def softmax_grad(inp, out):
    s = out[0]
    j = torch.diag(s) - torch.outer(s, s)
    inp.g = out.g @ j


# %% wrong: divided by the batch size | inp.g: mean-for-sum
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum(-1, keepdim=True)) / len(out)


# %% wrong: mean over the classes instead of their sum | inp.g: mean-for-sum
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).mean(-1, keepdim=True))


# %% wrong: sum over the batch instead of the classes | inp.g: summed-wrong-axis
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out * out.g).sum(0))


# %% wrong: sum over all entries instead of each row | inp.g: summed-wrong-axis
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out * out.g).sum())


# %% wrong: softmax over the batch instead of the classes | inp.g: summed-wrong-axis
def softmax_grad(inp, out):
    s = inp.softmax(dim=0)
    inp.g = s * (out.g - (out.g * s).sum(0))


# %% wrong: only the diagonal of the Jacobian | inp.g: diagonal-only
def softmax_grad(inp, out):
    inp.g = out * (1 - out) * out.g


# %% wrong: the derivative of the exponential alone | inp.g: diagonal-only
def softmax_grad(inp, out):
    inp.g = inp.exp() * out.g


# %% wrong: sign missing off the diagonal of the Jacobian | inp.g: wrong-sign
import torch


def softmax_grad(inp, out):
    g = torch.zeros_like(inp)
    for n in range(inp.shape[0]):
        for i in range(inp.shape[1]):
            for j in range(inp.shape[1]):
                d = out[n, i] * (1 - out[n, i]) if i == j else out[n, i] * out[n, j]
                g[n, i] += d * out.g[n, j]
    inp.g = g


# %% wrong: the two terms added instead of subtracted | inp.g: wrong-sign
def softmax_grad(inp, out):
    inp.g = out * (out.g + (out.g * out).sum(-1, keepdim=True))


# %% wrong: both terms with the wrong sign | inp.g: wrong-sign
def softmax_grad(inp, out):
    inp.g = out * ((out * out.g).sum(-1, keepdim=True) - out.g)


# %% wrong: inp in place of out | inp.g: wrong-point
def softmax_grad(inp, out):
    inp.g = inp * (out.g - (out.g * inp).sum(-1, keepdim=True))


# %% wrong: softmax applied twice | inp.g: wrong-point
def softmax_grad(inp, out):
    s = out.softmax(-1)
    inp.g = s * (out.g - (out.g * s).sum(-1, keepdim=True))


# %% wrong: out squared moved out of the sum | inp.g: wrong-operand
def softmax_grad(inp, out):
    inp.g = out * out.g - out**2 * out.g.sum(-1, keepdim=True)


# %% wrong: out used in place of out.g in the first term | inp.g: value-for-gradient
def softmax_grad(inp, out):
    inp.g = out * (out - (out * out.g).sum(-1, keepdim=True))


# %% wrong: out used in place of out.g in the sum | inp.g: value-for-gradient
def softmax_grad(inp, out):
    inp.g = out * out.g - out * (out * out).sum(-1, keepdim=True)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def softmax_grad(inp, out):
    inp.g = out * (out - (out * out).sum(-1, keepdim=True))


# %% wrong: identity in place of the diagonal matrix of out | inp.g: wrong-local or missing-local
import torch


def softmax_grad(inp, out):
    jac = torch.eye(out.shape[1]) - torch.einsum("bi,bj->bij", out, out)
    inp.g = torch.einsum("bij,bj->bi", jac, out.g)


# %% wrong: the rule for log_softmax | inp.g: wrong-local
def softmax_grad(inp, out):
    inp.g = out.g - out * out.g.sum(-1, keepdim=True)


# %% wrong: softmax of the upstream gradient | inp.g: wrong-local
def softmax_grad(inp, out):
    inp.g = out.g.softmax(-1)


# %% wrong: out.g subtracted from out | inp.g: wrong-local or wrong-operand
def softmax_grad(inp, out):
    inp.g = out - out.g


# %% wrong: keepdim missing | inp.g: error
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum(-1))


# %% wrong: nothing where the score is 0, as if that were padding | inp.g: wrong-local
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum(-1, keepdim=True)) * (inp != 0)
