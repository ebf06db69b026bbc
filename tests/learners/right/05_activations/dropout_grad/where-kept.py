import torch


def dropout_grad(inp, out, mask, p):
    keep = mask.bool()
    inp.g = torch.zeros_like(inp)
    inp.g[keep] = out.g[keep] / (1 - p)
