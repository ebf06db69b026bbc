# expect inp.g: error | transposed
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[targ, torch.arange(len(targ))] = -1 / len(targ)
