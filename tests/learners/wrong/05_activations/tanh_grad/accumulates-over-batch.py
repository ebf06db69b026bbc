# expect inp.g: partial-batch
import torch


def tanh_grad(inp, out):
    inp.g = torch.zeros_like(inp)
    for i in range(len(inp) - 1):
        inp.g[i] = (1 - out[i] ** 2) * out.g[i]
