import torch


def dout_dz(z):
    return torch.full_like(z, 1 / z.numel())
