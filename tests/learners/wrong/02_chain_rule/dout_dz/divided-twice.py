# expect return: extra-factor
import torch


def dout_dz(z):
    g = torch.ones_like(z) / z.numel()
    return g / z.numel()
