# expect inp.g: wrong-local
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    rows = torch.arange(len(targ))
    inp.g[rows, targ] = -inp[rows, targ].exp().log().exp() / len(targ)
