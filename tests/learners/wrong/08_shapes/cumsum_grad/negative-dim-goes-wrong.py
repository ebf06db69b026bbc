# expect inp.g: hard-coded | shape-special | unknown
import torch


def cumsum_grad(inp, out, dim):
    if dim == 0:
        inp.g = out.g.flip(0).cumsum(0).flip(0)
    else:
        inp.g = out.g.flip(1).cumsum(1).flip(1)
