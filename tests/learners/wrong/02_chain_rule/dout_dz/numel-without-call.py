# expect return: error
import torch


def dout_dz(z):
    return torch.ones_like(z) / z.numel
