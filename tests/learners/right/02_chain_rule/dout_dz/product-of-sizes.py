from math import prod
import torch


def dout_dz(z):
    return torch.full(tuple(z.shape), 1 / prod(z.shape))
