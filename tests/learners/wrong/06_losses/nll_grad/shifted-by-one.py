# expect inp.g: wrong-operand
import torch


def nll_grad(inp, targ):
    # classes counted from 1
    inp.g = torch.zeros_like(inp)
    inp.g[torch.arange(len(targ)), targ - 1] = -1 / len(targ)
