# log_softmax_grad: out = inp.log_softmax(-1)

# %% right: through the softmax and the logarithm
def log_softmax_grad(inp, out):
    p = out.exp()
    p_g = out.g / p
    inp.g = p * (p_g - (p_g * p).sum(-1, keepdim=True))


# %% right: einsum
import torch


def log_softmax_grad(inp, out):
    inp.g = out.g - torch.einsum("bc,bd->bc", out.exp(), out.g)


# %% right: the Jacobian of each row
import torch


def log_softmax_grad(inp, out):
    bs, c = inp.shape
    inp.g = torch.empty(bs, c)
    for i in range(bs):
        jacobian = torch.eye(c) - inp[i].softmax(0).expand(c, c)
        inp.g[i] = out.g[i] @ jacobian


# %% right: softmax of out
def log_softmax_grad(inp, out):
    # softmax does not change when a row is shifted
    inp.g = out.g - out.softmax(-1) * out.g.sum(-1).unsqueeze(-1)


# %% right: in two steps, in place
def log_softmax_grad(inp, out):
    inp.g = out.g.clone()
    inp.g -= out.g.sum(1)[:, None] * inp.softmax(1)


# %% right: row by row
import torch


def log_softmax_grad(inp, out):
    g = torch.empty_like(inp)
    for i in range(len(inp)):
        g[i] = out.g[i] - out[i].exp() * out.g[i].sum()
    setattr(inp, "g", g)


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def log_softmax_grad(inp, out):
    c = inp.shape[-1]
    inp.g = 1 - c * inp.softmax(-1)


# %% wrong: upstream gradient missing in the second term | inp.g: missing-upstream
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp()


# %% wrong: softmax missing in front of the sum | inp.g: missing-local
def log_softmax_grad(inp, out):
    inp.g = out.g - out.g.sum(-1, keepdim=True)


# %% wrong: products with the softmax summed | inp.g: extra-factor or wrong-local
def log_softmax_grad(inp, out):
    p = out.exp()
    inp.g = out.g - p * (p * out.g).sum(-1, keepdim=True)


# %% wrong: stopped at the softmax, after the logarithm | inp.g: missing-path or missing-local or wrong-local
def log_softmax_grad(inp, out):
    # d log(p) = 1/p
    inp.g = out.g / out.exp()


# %% wrong: first term missing | inp.g: missing-path
def log_softmax_grad(inp, out):
    inp.g = -out.exp() * out.g.sum(1, keepdim=True)


# %% wrong: second term missing | inp.g: missing-path or missing-local
def log_softmax_grad(inp, out):
    inp.g = out.g.clone()


# %% wrong: mean over the classes instead of their sum | inp.g: mean-for-sum
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.mean(-1, keepdim=True)


# %% wrong: sum over all entries instead of each row | inp.g: summed-wrong-axis
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.sum()


# %% wrong: softmax and sum over the batch instead of the classes | inp.g: summed-wrong-axis
def log_softmax_grad(inp, out):
    inp.g = out.g - inp.softmax(0) * out.g.sum(0, keepdim=True)


# %% wrong: sum over the batch instead of the classes | inp.g: summed-wrong-axis
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.sum(0, keepdim=True)


# %% wrong: only the diagonal of the Jacobian | inp.g: diagonal-only
def log_softmax_grad(inp, out):
    inp.g = (1 - out.exp()) * out.g


# %% wrong: the two terms added instead of subtracted | inp.g: wrong-sign
def log_softmax_grad(inp, out):
    inp.g = out.g + out.exp() * out.g.sum(-1, keepdim=True)


# %% wrong: exponentials of inp, not divided by their sum | inp.g: wrong-point or missing-local
def log_softmax_grad(inp, out):
    inp.g = out.g - inp.exp() * out.g.sum(-1, keepdim=True)


# %% wrong: out in place of its exponential | inp.g: wrong-point
def log_softmax_grad(inp, out):
    inp.g = out.g - out * out.g.sum(-1, keepdim=True)


# %% wrong: softmax applied twice | inp.g: wrong-point
def log_softmax_grad(inp, out):
    p = out.exp().softmax(-1)
    inp.g = out.g - p * out.g.sum(-1, keepdim=True)


# %% wrong: out used in place of out.g in the first term | inp.g: value-for-gradient
def log_softmax_grad(inp, out):
    inp.g = out - out.exp() * out.g.sum(-1, keepdim=True)


# %% wrong: out used in place of out.g in the sum | inp.g: value-for-gradient
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.sum(-1, keepdim=True)


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def log_softmax_grad(inp, out):
    inp.g = out - out.exp() * out.sum(-1, keepdim=True)


# %% wrong: products with the softmax summed, then not multiplied by it | inp.g: wrong-local
def log_softmax_grad(inp, out):
    p = inp.softmax(-1)
    inp.g = out.g - (p * out.g).sum(-1, keepdim=True)


# %% wrong: sum of out.g in the first term too | inp.g: wrong-local or missing-local or missing-upstream
def log_softmax_grad(inp, out):
    inp.g = (1 - out.exp()) * out.g.sum(-1, keepdim=True)


# %% wrong: softmax of the upstream gradient subtracted | inp.g: wrong-local or unknown
def log_softmax_grad(inp, out):
    inp.g = out.g - out.g.softmax(-1)


# %% wrong: the rule for softmax | inp.g: wrong-local
def log_softmax_grad(inp, out):
    p = out.exp()
    inp.g = p * (out.g - (out.g * p).sum(-1, keepdim=True))


# %% wrong: equal shares in place of the softmax | inp.g: wrong-local
def log_softmax_grad(inp, out):
    inp.g = out.g - out.g.mean(-1, keepdim=True)


# %% wrong: keepdim missing | inp.g: error
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.sum(dim=1)


# %% wrong: the upstream gradient of a row added up without equal ones | inp.g: wrong-local
import torch


def log_softmax_grad(inp, out):
    total = torch.tensor([[sum(set(row))] for row in out.g.tolist()])
    inp.g = out.g - out.exp() * total
