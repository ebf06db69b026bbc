# mse_grad: loss = (inp.squeeze(-1) - targ).pow(2).mean()

# %% right: computed in float64, the batch size as a tensor
import torch


def mse_grad(inp, targ):
    bs = torch.tensor(targ.shape[0], dtype=torch.float64)
    diff = inp.double().sub(targ.double()[:, None])
    inp.g = diff.mul(2).div(bs).type_as(inp)


# %% right: einsum over an axis of size 1
import torch


def mse_grad(inp, targ):
    d = torch.einsum("bi->b", inp) - targ
    inp.g = torch.stack([d + d], 1).div(d.numel())


# %% right: the lesson's own formula, with squeeze
def mse_grad(inp, targ):
    # grad of loss with respect to output of previous layer
    inp.g = 2. * (inp.squeeze() - targ).unsqueeze(-1) / inp.shape[0]


# %% right: stored by index, the target's gradient too
import torch
def mse_grad(inp, targ):
    n = len(targ)
    inp.g = torch.zeros(n, 1)
    for i in range(n):
        inp.g[i, 0] = 2 * (inp[i, 0] - targ[i]) / n
    targ.g = -inp.g[:, 0]


# %% right: plain floats
import torch


def mse_grad(inp, targ):
    ps, ts = inp.flatten().tolist(), targ.tolist()
    inp.g = torch.tensor([[2 / len(ts) * (p - t)] for p, t in zip(ps, ts)])


# %% right: row by row, in a list that is stacked
import torch


def mse_grad(inp, targ):
    rows = []
    for x, t in zip(inp, targ):
        rows.append(2 * (x - t) / len(targ))
    inp.g = torch.stack(rows)


# %% right: row by row, stored by index
import torch


def mse_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    for i in range(len(targ)):
        inp.g[i, 0] = (inp[i, 0] - targ[i]) * 2 / len(targ)


# %% right: a sum of four terms of the square multiplied out
def mse_grad(inp, targ):
    # d/dx of x*x - 2*x*t + t*t, one term at a time
    targ_col = targ.view(inp.shape)
    terms = (inp, inp, -targ_col, -targ_col)
    inp.g = sum(t / targ.numel() for t in terms)


# %% wrong: measured with one step forward | inp.g: imprecise
import torch


def mse(x, targ):
    return (x.squeeze(-1) - targ).pow(2).mean()


def mse_grad(inp, targ):
    inp.g, h = torch.zeros_like(inp), 1e-3
    for i in range(len(inp)):
        e = torch.zeros_like(inp)
        e[i] = h
        inp.g[i] = (mse(inp + e, targ) - mse(inp, targ)) / h


# %% wrong: 2 from the square missing | inp.g: missing-local
def mse_grad(inp, targ):
    inp.g = (inp.squeeze(-1) - targ).unsqueeze(-1) / inp.shape[0]


# %% wrong: divided by the batch size twice | inp.g: extra-factor
def mse_grad(inp, targ):
    n = len(targ)
    dmean = 1 / n
    diff = (inp.squeeze(-1) - targ).unsqueeze(-1)
    inp.g = dmean * 2 * diff / n


# %% wrong: averaged over the batch once more | inp.g: extra-batch-sum or hard-coded
def mse_grad(inp, targ):
    inp.g = (2 * (inp.squeeze(-1) - targ) / len(targ)).mean().expand(len(targ), 1)


# %% wrong: mean error in every entry, not divided by the batch size | inp.g: extra-batch-sum
import torch


def mse_grad(inp, targ):
    diff = inp - targ.unsqueeze(-1)
    inp.g = torch.full_like(inp, 2 * diff.mean().item())


# %% wrong: not divided by the batch size | inp.g: sum-for-mean
def mse_grad(inp, targ):
    inp.g = 2.0 * (inp.squeeze(-1) - targ).unsqueeze(-1)


# %% wrong: every prediction with every target, then averaged | inp.g: broadcast-accident
def mse_grad(inp, targ):
    diff = (inp - targ).mean(dim=1)
    inp.g = 2 * diff[:, None] / len(targ)


# %% wrong: mean of the targets subtracted from each prediction | inp.g: broadcast-accident or wrong-operand
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ.mean()) / len(targ)


# %% wrong: every prediction with every target, then summed | inp.g: broadcast-accident
def mse_grad(inp, targ):
    diff = inp - targ
    inp.g = 2 * diff.sum(1, keepdim=True) / inp.shape[0]


# %% wrong: every prediction with every target | inp.g: broadcast-accident
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ) / inp.shape[0]


# %% wrong: target and prediction exchanged | inp.g: wrong-sign
def mse_grad(inp, targ):
    inp.g = 2 * (targ - inp.squeeze(-1)).unsqueeze(-1) / len(inp)


# %% wrong: target added instead of subtracted | inp.g: wrong-sign
def mse_grad(inp, targ):
    inp.g = 2 * (inp + targ.unsqueeze(1)) / len(targ)


# %% wrong: target not subtracted | inp.g: wrong-point
def mse_grad(inp, targ):
    inp.g = 2 * inp / len(inp)


# %% wrong: batch size of 64 written into the code | inp.g: hard-coded
def mse_grad(inp, targ):
    inp.g = 2 * (inp.squeeze(-1) - targ).unsqueeze(-1) / 64


# %% wrong: all axes squeezed, the batch of one too | inp.g: shape-special
def mse_grad(inp, targ):
    diff = inp.squeeze() - targ.squeeze()
    inp.g = (2 * diff / diff.numel()).unsqueeze(-1)


# %% wrong: absolute value in place of the square | inp.g: wrong-local
def mse_grad(inp, targ):
    diff = inp - targ[:, None]
    inp.g = 2 * diff.sign() / len(inp)


# %% wrong: error squared and doubled | inp.g: wrong-local
def mse_grad(inp, targ):
    diff = inp.squeeze(-1) - targ
    inp.g = 2 * diff.pow(2).unsqueeze(-1) / diff.numel()


# %% wrong: error squared instead of doubled | inp.g: wrong-local
def mse_grad(inp, targ):
    inp.g = (inp - targ.unsqueeze(-1)) ** 2 / len(targ)


# %% wrong: brackets missing around the error | inp.g: unknown or missing-local
def mse_grad(inp, targ):
    inp.g = 2 * inp - targ.unsqueeze(1) / len(targ)


# %% wrong: targets sorted | inp.g: unknown or wrong-operand
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ.sort().values.unsqueeze(-1)) / len(targ)


# %% wrong: a docstring without its end | *: syntax-error
def mse_grad(inp, targ):
    """Gradient of the mean squared error.
    inp.g = 2 * (inp.squeeze(-1) - targ).unsqueeze(-1) / inp.shape[0]


# %% wrong: returned instead of stored | inp.g: returned-not-stored
def mse_grad(inp, targ):
    return 2 * (inp - targ.unsqueeze(1)) / len(targ)


# %% right: a NumPy array
def mse_grad(inp, targ):
    inp.g = 2 * (inp.squeeze(-1) - targ).numpy()[:, None] / len(inp)


# %% wrong: the answer without its last axis | inp.g: wrong-shape
def mse_grad(inp, targ):
    inp.g = 2 * (inp.squeeze(-1) - targ) / len(targ)


# %% wrong: target subtracted from inp in place | inp.g: mutated-input
def mse_grad(inp, targ):
    inp -= targ.unsqueeze(-1)
    inp.g = 2 * inp / inp.shape[0]


# %% wrong: autograd through backward | inp.g: used-autograd
def mse_grad(inp, targ):
    x = inp.clone().requires_grad_()
    loss = (x.squeeze(-1) - targ).pow(2).mean()
    loss.backward()
    inp.g = x.grad


# %% wrong: a factor that shrinks with every call | inp.g: not-repeatable
scale = 1.0

def mse_grad(inp, targ):
    global scale
    inp.g = scale * 2 * (inp - targ[:, None]) / len(inp)
    scale *= 0.9


# %% wrong: random noise on one row | inp.g: not-repeatable
import random


def mse_grad(inp, targ):
    n = len(targ)
    g = 2 * (inp.squeeze(-1) - targ).unsqueeze(-1) / n
    g[random.randrange(n)] += random.gauss(0, 1)
    inp.g = g


# %% wrong: the sign of the error, which has none where the prediction is right | inp.g: not-finite
def mse_grad(inp, targ):
    error = inp - targ.unsqueeze(-1)
    inp.g = 2 * error.abs() * (error / error.abs()) / len(inp)
