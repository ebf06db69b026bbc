# expect inp.g: wrong-point | wrong-local
import torch


def cross_entropy_grad(inp, targ):
    inp.g = inp.log_softmax(-1)
    inp.g[torch.arange(len(targ)), targ] -= 1
    inp.g /= len(targ)
