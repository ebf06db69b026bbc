import torch


def dz_dy(y):
    g = y.to(torch.float64) * 6
    return g.to(y.dtype)
