# expect return: missing-local
import torch


def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * (out - target) * 6 / x.numel() * torch.ones_like(x)
