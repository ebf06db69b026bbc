# expect inp.g: mean-for-sum
import torch


def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[torch.arange(len(targ)), targ] -= 1
    inp.g = g / g.numel()
