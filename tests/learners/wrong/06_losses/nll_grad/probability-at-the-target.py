# expect inp.g: wrong-local
import torch


def nll_grad(inp, targ):
    rows = torch.arange(len(targ))
    inp.g = torch.zeros_like(inp)
    inp.g[rows, targ] = -inp[rows, targ].exp() / len(targ)
