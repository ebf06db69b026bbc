# expect inp.g: summed-wrong-axis | wrong-local
import torch


def cross_entropy_grad(inp, targ):
    g = inp.softmax(0)
    g[torch.arange(len(targ)), targ] -= 1
    inp.g = g / len(targ)
