# mse_sum_grad: loss = (inp - targ).pow(2).sum()

# %% right: difference added to itself
def mse_sum_grad(inp, targ):
    d = inp - targ
    inp.g = d + d


# %% right: two loops over the entries
import torch


def mse_sum_grad(inp, targ):
    inp.g = torch.zeros(*inp.shape)
    for i in range(inp.shape[0]):
        for j in range(inp.shape[1]):
            inp.g[i, j] = 2 * (inp[i, j].item() - targ[i, j].item())


# %% right: the square multiplied out
def mse_sum_grad(inp, targ):
    # x**2 - 2xt + t**2
    inp.g = 2 * inp - 2 * targ


# %% wrong: 2 on the prediction alone, for lack of brackets | inp.g: missing-local or wrong-local
def mse_sum_grad(inp, targ):
    inp.g = 2 * inp - targ


# %% wrong: 2 from the square missing | inp.g: missing-local
def mse_sum_grad(inp, targ):
    inp.g = inp - targ


# %% wrong: error missing | inp.g: missing-local or hard-coded
def mse_sum_grad(inp, targ):
    inp.g = 2 * inp.new_ones(inp.shape)


# %% wrong: summed over the batch | inp.g: extra-batch-sum
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ).sum(0)


# %% wrong: sum of all errors in every entry | inp.g: extra-batch-sum
import torch


def mse_sum_grad(inp, targ):
    inp.g = torch.full_like(inp, 2 * (inp - targ).sum().item())


# %% wrong: divided by the number of entries | inp.g: mean-for-sum
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ) / inp.numel()


# %% wrong: divided by the batch size | inp.g: mean-for-sum
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ) / inp.shape[0]


# %% wrong: sum of the row in each of its entries | inp.g: summed-wrong-axis or unknown
def mse_sum_grad(inp, targ):
    inp.g = (2 * (inp - targ)).sum(1, keepdim=True).expand_as(inp)


# %% wrong: target and prediction exchanged | inp.g: wrong-sign
def mse_sum_grad(inp, targ):
    inp.g = -2 * (inp - targ)


# %% wrong: target not subtracted | inp.g: wrong-point
def mse_sum_grad(inp, targ):
    inp.g = 2.0 * inp


# %% wrong: absolute value of the error | inp.g: wrong-local or wrong-sign
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ).abs()


# %% wrong: error squared and doubled | inp.g: wrong-local
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ) ** 2


# %% wrong: error squared instead of doubled | inp.g: wrong-local or forward-value
def mse_sum_grad(inp, targ):
    inp.g = (inp - targ) ** 2


# %% wrong: returned instead of stored | inp.g: returned-not-stored
def mse_sum_grad(inp, targ):
    return 2 * (inp - targ)


# %% wrong: summed over the outputs | inp.g: wrong-shape or summed-wrong-axis or extra-batch-sum
def mse_sum_grad(inp, targ):
    inp.g = (2 * (inp - targ)).sum(dim=1)


# %% wrong: twice the square over the error | inp.g: not-finite
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ) ** 2 / (inp - targ)
