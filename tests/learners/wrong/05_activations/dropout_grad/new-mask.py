# expect inp.g: not-repeatable
import torch


def dropout_grad(inp, out, mask, p):
    mask = (torch.rand(inp.shape) > p).float()
    inp.g = out.g * mask / (1 - p)
