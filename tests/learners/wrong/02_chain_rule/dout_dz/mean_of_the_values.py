# expect return: forward-value | wrong-shape
import torch


def dout_dz(z):
    return torch.ones_like(z) * z.mean()
