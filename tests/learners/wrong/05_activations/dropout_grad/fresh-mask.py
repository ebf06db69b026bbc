# expect inp.g: not-repeatable
import torch


def dropout_grad(inp, out, mask, p):
    again = (torch.rand_like(inp) > p).float()
    inp.g = out.g * again / (1 - p)
