import torch


def dy_dx(x):
    return torch.zeros(x.shape) + 1
