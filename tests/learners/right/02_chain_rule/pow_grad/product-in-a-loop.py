import torch


def pow_grad(inp, out, k):
    power = torch.ones_like(inp)
    for _ in range(k - 1):
        power = power * inp
    setattr(inp, "g", out.g * power * k)
