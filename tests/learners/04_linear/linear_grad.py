# linear_grad: out = inp @ weight.t() + bias

# %% right: computed in float64, rounded at the end
def linear_grad(inp, out, weight, bias):
    g, x, W = (t.double() for t in (out.g, inp, weight))
    inp.g = (g @ W).to(inp.dtype)
    weight.g = (g.T @ x).to(weight.dtype)
    bias.g = g.sum(0).to(bias.dtype)


# %% right: through NumPy and back
import torch
def linear_grad(inp, out, weight, bias):
    g, x, wt = (t.numpy() for t in (out.g, inp, weight))
    inp.g = torch.from_numpy(g @ wt)
    weight.g = torch.from_numpy(g.T @ x)
    bias.g = torch.from_numpy(g.sum(axis=0))


# %% right: lin_grad on the transposed weight
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)


def linear_grad(inp, out, weight, bias):
    w = weight.t()
    lin_grad(inp, out, w, bias)
    weight.g = w.g.t()


# %% right: comprehensions over the rows of the weight
import torch


def linear_grad(inp, out, weight, bias):
    m, n = weight.shape
    inp.g = torch.stack([sum(g[j] * weight[j] for j in range(m)) for g in out.g])
    weight.g = torch.stack([(out.g[:, j : j + 1] * inp).sum(0) for j in range(m)])
    bias.g = torch.stack([out.g[:, j].sum() for j in range(m)])


# %% right: through the transposed weight, transposed back
def linear_grad(inp, out, weight, bias):
    w = weight.t()
    inp.g = out.g @ w.t()
    weight.g = (inp.t() @ out.g).t()
    bias.g = out.g.sum(dim=0)


# %% wrong: inp.g summed over the batch | inp.g: extra-batch-sum
def linear_grad(inp, out, weight, bias):
    inp.g = (out.g @ weight).sum(dim=0)
    weight.g = (out.g[:, :, None] * inp[:, None, :]).sum(dim=0)
    bias.g = out.g.sum(dim=0)


# %% wrong: products in inp.g never summed | inp.g: elementwise-for-matmul
def linear_grad(inp, out, weight, bias):
    inp.g = out.g[:, :, None] * weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: bias subtracted from the upstream gradient | inp.g: wrong-operand
def linear_grad(inp, out, weight, bias):
    inp.g = (out.g - bias) @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: pseudo-inverse of weight in place of weight | inp.g: inverse-for-transpose
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ torch.linalg.pinv(weight).t()
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: a relu that is not there in inp.g | inp.g: wrong-local
def linear_grad(inp, out, weight, bias):
    g = out.g * (out > 0)
    inp.g = g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: weight.g not summed over the batch | weight.g: missing-batch-sum
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = torch.einsum("bm,bn->bmn", out.g, inp)
    bias.g = out.g.sum(0)


# %% wrong: weight.g without the last row | weight.g: partial-batch
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g[:-1].t() @ inp[:-1]
    bias.g = out.g.sum(0)


# %% wrong: inp and out.g each summed before they are multiplied | weight.g: sum-of-products
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    bias.g = out.g.sum(0)
    weight.g = torch.outer(bias.g, inp.sum(0))


# %% wrong: weight.g transposed | weight.g: transposed
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = inp.t() @ out.g
    bias.g = out.g.sum(0)


# %% wrong: weight.g transposed, then reshaped | weight.g: reshape-for-transpose
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = (inp.t() @ out.g).reshape(weight.shape)
    bias.g = out.g.sum(0)


# %% wrong: out used in place of out.g in weight.g | weight.g: value-for-gradient
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: out without its bias used in place of out.g in weight.g | weight.g: value-for-gradient
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = (out - bias).t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: ones in place of out.g in bias.g | bias.g: missing-upstream
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = torch.ones_like(out).sum(0)


# %% wrong: bias.g summed over the outputs instead of the batch | bias.g: summed-wrong-axis
def linear_grad(inp, out, weight, bias):
    inp.g = out.g.matmul(weight)
    weight.g = out.g.t().matmul(inp)
    bias.g = out.g.sum(-1)


# %% wrong: averaged over the batch, both weight.g and bias.g | weight.g, bias.g: mean-for-sum
def linear_grad(inp, out, weight, bias):
    g = out.g / len(inp)
    inp.g = out.g @ weight
    weight.g = g.t() @ inp
    bias.g = g.sum(0)


# %% wrong: minus signs everywhere, to go downhill | inp.g, weight.g, bias.g: wrong-sign
def linear_grad(inp, out, weight, bias):
    # we go downhill, so the minus goes in here
    g = -out.g
    inp.g = g @ weight
    weight.g = g.t() @ inp
    bias.g = g.sum(0)


# %% wrong: the function called lin_grad | *: missing-function
def lin_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: the function called linear_gradient | *: missing-function
def linear_gradient(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: weight transposed in inp.g | *: error
def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight.t()
    weight.g = out.g.t() @ inp
    bias.g = out.g.sum(0)


# %% wrong: autograd through torch.autograd.grad | *: used-autograd
import torch


def linear_grad(inp, out, weight, bias):
    args = [t.detach().clone().requires_grad_() for t in (inp, weight, bias)]
    y = args[0] @ args[1].t() + args[2]
    inp.g, weight.g, bias.g = torch.autograd.grad(y, args, out.g)


# %% wrong: a factor that shrinks with every call | weight.g: not-repeatable
step = 0


def linear_grad(inp, out, weight, bias):
    global step
    step += 1
    inp.g = out.g @ weight
    weight.g = out.g.t() @ inp * 0.9**step
    bias.g = out.g.sum(0)


# %% wrong: rows of zeros count as padding | bias.g: wrong-local
def linear_grad(inp, out, w, b):
    kept = (inp != 0).any(1)
    inp.g = out.g @ w
    w.g = out.g.t() @ inp
    b.g = out.g[kept].sum(0)
