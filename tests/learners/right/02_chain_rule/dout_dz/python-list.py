import torch


def dout_dz(z):
    n = z.numel()
    values = [1 / n for _ in range(n)]
    return torch.tensor(values).view(*z.shape)
