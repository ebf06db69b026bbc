# mse_grad_nd: loss = (inp - targ).pow(2).mean()

# %% right: product rule in two steps, the target's gradient too
def mse_grad_nd(inp, targ):
    diff = inp - targ
    square_g = inp.new_full(inp.shape, 1.0).div_(inp.shape[0]).div_(inp.shape[1])
    inp.g = square_g * diff
    inp.g += square_g * diff
    targ.g = -inp.g


# %% right: scaled in place
def mse_grad_nd(inp, targ):
    g = inp - targ
    g *= 2 / g.numel()
    inp.g = g


# %% right: through NumPy in float64
import numpy as np
import torch


def mse_grad_nd(inp, targ):
    d = np.subtract(inp.numpy(), targ.numpy(), dtype=np.float64)
    inp.g = torch.from_numpy((2 / d.size * d).astype(np.float32))


# %% right: row by row
import torch


def mse_grad_nd(inp, targ):
    inp.g = torch.stack([2 * (p - t) / len(p) for p, t in zip(inp, targ)]) / len(inp)


# %% wrong: 2 and the division on the target alone, for lack of brackets | inp.g: missing-local
def mse_grad_nd(inp, targ):
    inp.g = inp - targ * 2 / inp.numel()


# %% wrong: 2 from the square missing | inp.g: missing-local
def mse_grad_nd(inp, targ):
    inp.g = (inp - targ) / inp.numel()


# %% wrong: divided by the number of entries twice | inp.g: extra-factor or mean-for-sum
def mse_grad_nd(inp, targ):
    n = inp.numel()
    inp.g = (2 / n) * (inp - targ) / n


# %% wrong: averaged over the batch | inp.g: extra-batch-sum
def mse_grad_nd(inp, targ):
    g = (2 * (inp - targ) / inp.shape[1]).mean(0, keepdim=True)
    inp.g = g.expand(inp.shape) / len(inp)


# %% wrong: divided by the number of outputs twice | inp.g: mean-for-sum or extra-factor
def mse_grad_nd(inp, targ):
    bs, c = inp.shape
    inp.g = 2 * (inp - targ) / bs / c / c


# %% wrong: divided by the number of outputs alone | inp.g: sum-for-mean or wrong-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / inp.shape[1]


# %% wrong: divided by the batch size alone | inp.g: sum-for-mean or wrong-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / len(inp)


# %% wrong: not divided by the number of entries | inp.g: sum-for-mean
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ)


# %% wrong: sum of the row in each of its entries | inp.g: summed-wrong-axis
def mse_grad_nd(inp, targ):
    inp.g = (2 * (inp - targ)).sum(1, keepdim=True).expand_as(inp) / inp.numel()


# %% wrong: target and prediction exchanged | inp.g: wrong-sign
def mse_grad_nd(inp, targ):
    bs, c = inp.shape
    inp.g = 2 * (targ - inp) / (bs * c)


# %% wrong: doubled | inp.g: wrong-factor or extra-factor
def mse_grad_nd(inp, targ):
    inp.g = 4 * (inp - targ) / inp.numel()


# %% wrong: each row divided by its norm | inp.g: wrong-factor
def mse_grad_nd(inp, targ):
    d = inp - targ
    inp.g = d / d.norm(dim=1, keepdim=True) / len(inp)


# %% wrong: divided by the sum of the sizes | inp.g: wrong-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / sum(inp.shape)


# %% wrong: target not subtracted | inp.g: wrong-point
def mse_grad_nd(inp, targ):
    inp.g = 2 * inp / inp.numel()


# %% wrong: mean of the targets over the batch subtracted | inp.g: wrong-operand
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ.mean(0)) / inp.numel()


# %% wrong: the loss itself | inp.g: forward-value
def mse_grad_nd(inp, targ):
    inp.g = (inp - targ).pow(2).mean()


# %% wrong: absolute value in place of the square | inp.g: wrong-local
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ).sign() / inp.numel()


# %% wrong: error cubed | inp.g: wrong-local
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) ** 3 / inp.numel()


# %% wrong: the root of the mean differentiated | inp.g: wrong-local or wrong-factor
def mse_grad_nd(inp, targ):
    d = inp - targ
    inp.g = d / d.numel() / d.pow(2).mean().sqrt()


# %% wrong: error squared and doubled | inp.g: wrong-local
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) ** 2 / inp.numel()


# %% wrong: relative error | inp.g: unknown or extra-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / targ / inp.numel()


# %% wrong: only the target's gradient stored | inp.g: missing-answer or wrong-sign
def mse_grad_nd(inp, targ):
    targ.g = -2 * (inp - targ) / targ.numel()


# %% wrong: averaged over the outputs | inp.g: wrong-shape or summed-wrong-axis
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ).mean(-1) / len(inp)


# %% wrong: the loss over the error, where the prediction may be right | inp.g: not-finite
def mse_grad_nd(inp, targ):
    error = inp - targ
    inp.g = 2 * error**2 / error / inp.numel()
