# expect return: wrong-factor | shape-special
import torch


def dout_dz(z):
    return torch.ones_like(z) / len(z)
