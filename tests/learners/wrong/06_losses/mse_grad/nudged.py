# expect inp.g: imprecise
import torch


def mse(x, targ):
    return (x.squeeze(-1) - targ).pow(2).mean()


def mse_grad(inp, targ):
    inp.g, h = torch.zeros_like(inp), 1e-3
    for i in range(len(inp)):
        e = torch.zeros_like(inp)
        e[i] = h
        inp.g[i] = (mse(inp + e, targ) - mse(inp, targ)) / h
