# logsumexp_grad: out = inp.logsumexp(-1)

# %% right: a diagonal matrix of upstream gradients
import torch


def logsumexp_grad(inp, out):
    inp.g = torch.diag(out.g) @ torch.softmax(inp, dim=1)


# %% right: a quotient of exponentials
def logsumexp_grad(inp, out):
    inp.g = inp.exp() / out.exp()[:, None] * out.g[:, None]


# %% right: softmax by hand in NumPy
import numpy as np
import torch


def logsumexp_grad(inp, out):
    x = inp.numpy()
    e = np.exp(x - x.max(1, keepdims=True))
    inp.g = torch.tensor(e / e.sum(1, keepdims=True) * out.g.numpy()[:, None])


# %% right: shifted by the largest entry, divided in place
def logsumexp_grad(inp, out):
    e = (inp - inp.max(1, keepdim=True).values).exp_()
    e /= e.sum(1, keepdim=True)
    inp.g = (e.t() * out.g).t()


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1)


# %% wrong: entries of inp divided by their sum, without the exponential | inp.g: missing-local or wrong-local
def logsumexp_grad(inp, out):
    inp.g = inp / inp.sum(-1, keepdim=True) * out.g.unsqueeze(-1)


# %% wrong: exponentials not divided by their sum | inp.g: missing-local
def logsumexp_grad(inp, out):
    inp.g = inp.exp() * out.g[:, None]


# %% wrong: 1 in place of the exponential in the numerator | inp.g: missing-local
def logsumexp_grad(inp, out):
    inp.g = (out.g / inp.exp().sum(-1)).unsqueeze(-1).expand(inp.shape).clone()


# %% wrong: upstream gradient copied to every class | inp.g: missing-local
def logsumexp_grad(inp, out):
    inp.g = out.g.unsqueeze(-1).repeat(1, inp.shape[1])


# %% wrong: divided by the batch size | inp.g: mean-for-sum
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.g.unsqueeze(-1) / len(inp)


# %% wrong: divided by the number of classes | inp.g: mean-for-sum or extra-factor or wrong-factor
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.g[:, None] / inp.shape[-1]


# %% wrong: softmax over the batch instead of the classes | inp.g: summed-wrong-axis
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(0) * out.g.unsqueeze(-1)


# %% wrong: softmax over all entries | inp.g: summed-wrong-axis
def logsumexp_grad(inp, out):
    e = inp.exp()
    inp.g = e / e.sum() * out.g.unsqueeze(1)


# %% wrong: exponentials divided by out instead of their sum | inp.g: wrong-point
def logsumexp_grad(inp, out):
    # d log(u) = 1/u
    inp.g = inp.exp() / out[:, None] * out.g[:, None]


# %% wrong: log-softmax in place of the softmax | inp.g: wrong-point or missing-local or wrong-local
def logsumexp_grad(inp, out):
    inp.g = (inp - out.unsqueeze(-1)) * out.g.unsqueeze(-1)


# %% wrong: sum of out.g over the batch | inp.g: wrong-operand or sum-of-products
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.g.sum()


# %% wrong: out used in place of out.g | inp.g: value-for-gradient
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.unsqueeze(-1)


# %% wrong: the derivative of the maximum | inp.g: wrong-local
import torch


def logsumexp_grad(inp, out):
    hot = torch.nn.functional.one_hot(inp.argmax(-1), inp.shape[-1])
    inp.g = hot * out.g.unsqueeze(-1)


# %% wrong: sign of the exponent turned round | inp.g: wrong-local or wrong-sign
def logsumexp_grad(inp, out):
    inp.g = (out[:, None] - inp).exp() * out.g[:, None]


# %% wrong: exponential of out in every entry | inp.g: wrong-local or missing-local
def logsumexp_grad(inp, out):
    inp.g = out.exp().unsqueeze(-1) * out.g.unsqueeze(-1) + 0 * inp


# %% wrong: 1 subtracted from the softmax | inp.g: wrong-local
def logsumexp_grad(inp, out):
    inp.g = (inp.softmax(-1) - 1) * out.g.unsqueeze(-1)


# %% wrong: equal shares in place of the softmax | inp.g: wrong-local or missing-local
def logsumexp_grad(inp, out):
    # every entry has the same share
    inp.g = out.g[:, None].expand_as(inp) / inp.shape[-1]


# %% wrong: the derivative of a sigmoid in place of the softmax | inp.g: wrong-local or extra-factor
def logsumexp_grad(inp, out):
    p = inp.softmax(-1)
    inp.g = p * (1 - p) * out.g[:, None]


# %% wrong: out.g without a second axis | inp.g: error
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.g


# %% wrong: summed over the classes | inp.g: wrong-shape or missing-local
def logsumexp_grad(inp, out):
    inp.g = out.g * inp.softmax(-1).sum(-1)


# %% wrong: shares from the scores by name, equal ones as one | inp.g: wrong-local
import torch


def logsumexp_grad(inp, out):
    inp.g = torch.zeros_like(inp)
    for row, top, g, up in zip(inp.tolist(), out.tolist(), inp.g, out.g.tolist()):
        share = {score: torch.tensor(score - top).exp() * up for score in row}
        for score, value in share.items():
            g[row.index(score)] = value
