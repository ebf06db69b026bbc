import torch


def pow_grad(inp, out, k):
    slope = torch.ones_like(inp)
    for _ in range(k - 1):
        slope = slope * inp
    inp.g = slope * k * out.g
