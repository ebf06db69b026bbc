# expect inp.g: wrong-point
import torch


def tanh_grad(inp, out):
    inp.g = (1 - torch.tanh(out) ** 2) * out.g
