# expect return: hard-coded
import torch


def dout_dz(z):
    return torch.ones_like(z) * 0.25
