# expect return: forward-value
import torch


def dout_dz(z):
    out = z.mean()
    return torch.zeros_like(z) + out
