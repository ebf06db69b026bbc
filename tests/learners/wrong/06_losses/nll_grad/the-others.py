# expect inp.g: inverted-mask
import torch


def nll_grad(inp, targ):
    inp.g = torch.full_like(inp, -1 / len(targ))
    inp.g[range(len(targ)), targ] = 0
