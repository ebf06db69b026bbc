import torch


def dropout_grad(inp, out, mask, p):
    keep = 1 - p
    inp.g = torch.zeros_like(inp)
    inp.g[mask != 0] = out.g[mask != 0] / keep
