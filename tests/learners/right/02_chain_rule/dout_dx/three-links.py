import torch


def dy_dx(x):
    return torch.ones_like(x)


def dz_dy(y):
    return 6 * y


def dout_dz(z):
    return torch.ones_like(z) / z.numel()


def dout_dx(x):
    y = x + 2
    return dout_dz(3 * y * y) * dz_dy(y) * dy_dx(x)
