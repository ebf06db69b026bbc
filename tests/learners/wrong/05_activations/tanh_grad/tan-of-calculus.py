# expect inp.g: wrong-local
import torch


def tanh_grad(inp, out):
    inp.g = out.g / torch.cos(inp) ** 2
