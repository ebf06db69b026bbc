# expect inp.g: wrong-local
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    rows = range(len(targ))
    inp.g[rows, targ] = -1 / inp[rows, targ] / len(targ)
