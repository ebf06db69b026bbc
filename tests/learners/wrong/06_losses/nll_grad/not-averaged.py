# expect inp.g: sum-for-mean
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[range(len(targ)), targ] = -1
