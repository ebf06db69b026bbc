# expect inp.g: wrong-factor | mean-for-sum
import torch


def nll_grad(inp, targ):
    inp.g = torch.zeros_like(inp)
    inp.g[torch.arange(len(targ)), targ] = -1 / inp.numel()
