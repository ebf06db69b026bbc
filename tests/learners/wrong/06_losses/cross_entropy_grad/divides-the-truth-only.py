# expect inp.g: sum-for-mean
import torch


def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    p[torch.arange(len(targ)), targ] -= 1 / len(targ)
    inp.g = p
