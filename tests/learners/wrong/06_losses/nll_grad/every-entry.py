# expect inp.g: wrong-local
import torch


def nll_grad(inp, targ):
    inp.g = -torch.ones_like(inp) / len(targ)
